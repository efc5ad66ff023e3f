"""Lost files are derived again with the configuration and the schemas of then, or not at all.

Goal: what comes out is what was decided, also in columns and values, which evidence does not cover.
Method: a feed whose records are a list in memory dies between its decision and its publication, the
staged files are lost, and the next run has another configuration, or has learned more meanwhile.
"""

import io
import json
from typing import Any
from unittest.mock import patch

import msgspec
import pyarrow.parquet as pq
import pytest

from penstock.audit.shallow import audit
from penstock.model.convert_spec import ConvertSpec
from penstock.model.entries import Replace, Window
from penstock.model.row_config import RowConfig
from penstock.model.spec import FeedSpec, QuarantineSpec
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.row_configs import RowConfigs, read_config
from penstock.protocol.loop.owner import Owner
from penstock.testing.fault_script import Died
from penstock.testing.fault_store import Fault, FaultStore, What
from tests.helpers.list_story import FEED, TOPIC, TORN, Story, places

MASKED = msgspec.structs.replace(FEED, convert=(ConvertSpec("mask", ("email",), ("",)),))
STAGING = "_penstock/feed/staging"


def event(**fields: object) -> bytes:
    return json.dumps({"type": "click", **fields}).encode()


@pytest.fixture
def story() -> Story:
    return Story()


def decide_and_die(story: Story, feed: FeedSpec = FEED) -> None:
    """Decide a window, and lose its staged files."""
    with patch.object(Owner, "publish", side_effect=Died("kill -9")), pytest.raises(Died):
        story.run_once(feed)
    lose_staged(story)


def lose_staged(story: Story) -> None:
    staged = list(story.store.list_staged(STAGING, ()))
    assert staged
    for each in staged:
        story.store.discard(each)


def table_of(story: Story, window: str) -> Any:
    """The rows of the file that a window has delivered of the clicks."""
    (key,) = [each for each in list_keys(story.store, "feed/click") if f"_{window}." in each]
    return pq.read_table(io.BytesIO(story.store.read(key) or b""), partitioning=None)


def test_another_converter_is_refused_and_named_and_the_former_one_delivers(story: Story) -> None:
    story.cluster.append(TOPIC, 0, event(email="ann@example.org"))
    decide_and_die(story)
    assert story.run_once(MASKED) == 5
    sentence = story.said[-1]
    assert "CONFIG_CHANGED" in sentence
    assert '`convert` was [] and is [{"mask": ["email"]}]' in sentence
    assert "`penstock status feed --config-of 1-1` prints it" in sentence
    assert not story.delivered()
    assert story.run_once(FEED) == 0
    assert story.delivered() == places(0, 0)
    assert table_of(story, "1-1")["email"].to_pylist() == ["ann@example.org"]
    story.cluster.append(TOPIC, 0, event(email="bob@example.org"))
    assert story.run_once(MASKED) == 0, "nothing is lost any more, so it may change"


def test_settings_that_shape_no_row_may_change_before_files_are_derived_again(
    story: Story,
) -> None:
    story.cluster.append(TOPIC, 0, event(n=1))
    decide_and_die(story)
    other = msgspec.structs.replace(FEED, quarantine=QuarantineSpec(0.9), on_gap="accept")
    assert story.run_once(other) == 0
    assert story.delivered() == places(0, 0)


def test_what_is_still_staged_is_published_whatever_the_configuration_says(story: Story) -> None:
    story.cluster.append(TOPIC, 0, event(email="ann@example.org"))
    with patch.object(Owner, "publish", side_effect=Died("kill -9")), pytest.raises(Died):
        story.run_once()
    assert story.run_once(MASKED) == 0
    assert table_of(story, "1-1")["email"].to_pylist() == ["ann@example.org"]


@pytest.mark.parametrize("feed", [FEED, MASKED], ids=["plain", "converted"])
def test_derived_files_have_the_columns_that_were_decided_although_more_are_known_now(
    story: Story, feed: FeedSpec
) -> None:
    """The window itself teaches a field: it stays in `_rest` there, and is a column in the next."""
    story.cluster.append(TOPIC, 0, event(n=1, email="a@b"))
    assert story.run_once(feed) == 0
    story.cluster.append(TOPIC, 0, event(n=2, email="a@b", late="x"))
    decide_and_die(story, feed)
    (_, decided) = story.entries(Window)
    assert story.run_once(feed) == 0
    (replaced,) = story.entries(Replace)
    first, again = table_of(story, "1-1"), table_of(story, decided.window)
    assert again.schema.equals(first.schema)
    assert again["_rest"].to_pylist() == ['{"late":"x"}']
    versions = {(file.dataset, file.schema) for file in replaced.content.files}
    assert versions == set(decided.schemas.items())
    story.cluster.append(TOPIC, 0, event(n=3, email="a@b", late="y"))
    assert story.run_once(feed) == 0
    later = story.entries(Window)[-1]
    assert table_of(story, later.window)["late"].to_pylist() == ["y"]
    assert later.schemas["click"] > decided.schemas["click"]


def test_types_that_had_no_room_are_refused_again_when_files_are_derived(story: Story) -> None:
    narrow = msgspec.structs.replace(FEED, max_new_types=1)
    records = [event(n=1), event(n=2), json.dumps({"type": "order", "n": 1}).encode()]
    story.cluster.append(TOPIC, 0, *records)
    decide_and_die(story, narrow)
    assert story.run_once(narrow) == 0
    assert story.delivered() == places(0, 0, 1)
    assert story.quarantined() == places(0, 2)


def test_a_lost_file_of_the_quarantine_is_derived_again(story: Story) -> None:
    story.cluster.append(TOPIC, 0, TORN)
    decide_and_die(story)
    assert story.run_once() == 0
    assert story.quarantined() == places(0, 0)


def test_an_entry_without_a_configuration_is_derived_as_before(story: Story) -> None:
    story.cluster.append(TOPIC, 0, event(email="ann@example.org"))
    with patch.object(RowConfigs, "keep", lambda *_: ""):
        decide_and_die(story)
    assert story.run_once(MASKED) == 0
    assert story.delivered() == places(0, 0)


def test_a_configuration_whose_text_is_gone_is_refused_too(story: Story) -> None:
    story.cluster.append(TOPIC, 0, event(n=1))
    decide_and_die(story)
    journal = story.journal()
    story.store.delete(journal.layout.config(RowConfig.of(FEED).digest))
    assert story.run_once(MASKED) == 5
    assert "the recorded text is gone" in story.said[-1]
    assert story.run_once(FEED) == 0, "the same digest is the same configuration"


def test_the_text_is_in_the_lake_before_the_entry_and_once_for_each_change(story: Story) -> None:
    journal = story.journal()
    seen: list[Any] = []
    create = story.store.create

    def watched(key: str, data: bytes) -> bool:
        seen.append(key)
        return create(key, data)

    with patch.object(story.store, "create", watched):
        for feed in (FEED, FEED, MASKED):
            story.cluster.append(TOPIC, 0, *[event(email="a")] * 20)  # three windows
            assert story.run_once(feed) == 0
    digests = [RowConfig.of(FEED).digest, RowConfig.of(MASKED).digest]
    assert [each.config for each in story.entries(Window)] == [digests[0]] * 6 + [digests[1]] * 3
    assert list_keys(story.store, journal.layout.configs) == sorted(
        journal.layout.config(each) for each in digests
    )
    asked = [key for key in seen if key.startswith(journal.layout.configs)]
    assert len(asked) == 3, "once for each start"
    first_entry = seen.index(asked[0])
    named = [
        n for n in range(20) if (sealed := journal.read(n)) and sealed.body.__class__ is Window
    ]
    assert first_entry < seen.index(journal.layout.entry(named[0]))
    settings = read_config(journal, digests[1])
    assert settings is not None
    assert settings["convert"] == [{"mask": ["email"]}]


@pytest.mark.parametrize(
    "what", [What.FAIL_BEFORE, What.FAIL_AFTER, What.DIE_BEFORE, What.DIE_AFTER, What.DELAY]
)
def test_whatever_happens_to_the_text_no_entry_names_one_that_is_not_there(
    story: Story, what: What
) -> None:
    """Goal: landed, not landed and unknown all end well. Method: the create of the text fails."""
    story.cluster.append(TOPIC, 0, event(n=1))
    inner = story.store
    faulty = FaultStore(inner, [Fault("create", what, "_penstock/feed/configs/*")])
    story.store = faulty
    try:
        story.run_once()
    except Died:
        assert what in (What.DIE_BEFORE, What.DIE_AFTER)
    assert faulty.unmet() == []
    story.store = inner
    for window in story.entries(Window):
        assert read_config(story.journal(), window.config) is not None
    assert story.run_once() == 0
    assert story.delivered() == places(0, 0)
    faulty.deliver()
    assert audit(story.journal()).verdict == "ok"


@pytest.mark.parametrize("damage", [None, b"{}"], ids=["gone", "altered"])
def test_an_audit_finds_a_text_that_is_gone_or_altered(story: Story, damage: bytes | None) -> None:
    story.cluster.append(TOPIC, 0, event(n=1))
    assert story.run_once() == 0
    key = story.journal().layout.config(RowConfig.of(FEED).digest)
    story.store.delete(key)
    if damage is not None:
        story.store.create(key, damage)
    (difference,) = audit(story.journal()).differences
    assert difference.file == key
    assert difference.kind == ("file_missing" if damage is None else "file_contents")
