"""A feed that halts leaves word of it in the lake, for other processes and after restarts.

Goal: whoever asks learns why, since when, where and what to do; and no decision depends on it.
Method: whole runs of a feed whose records are a list; what was left is read by a fresh client.
"""

import json

import msgspec
import pytest

from penstock.errors import PenstockError
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.convert_spec import ConvertSpec
from penstock.model.entries import Park, Unpark
from penstock.model.halted import Halted
from penstock.model.layout import Layout
from penstock.model.spec import (
    DatasetSpec,
    FeedSpec,
    PartitionKey,
    PublishSpec,
    QuarantineSpec,
    RouteSpec,
    StartSpec,
    WindowSpec,
)
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.acceptance import accept_next
from penstock.protocol.feed_book.feed_lease import FeedLease
from penstock.protocol.feed_book.halted_objects import read_halted, read_samples, write_halted
from penstock.protocol.journal.lease import Contender
from penstock.runtime.this_process import is_dead, this_process
from penstock.status.halted_feed import halt_of, lines_of
from penstock.testing.fault_store import Died, Fault, FaultStore, What
from penstock.testing.list_source import ListSource
from penstock.testing.memory_store import MemoryStore
from tests.helpers.list_story import TOPIC, Story, events, places

HALTED = "_penstock/feed/halted"
STRICT = FeedSpec(
    name="feed",
    topics=(TOPIC,),
    route=RouteSpec("field", "type"),
    window=WindowSpec(max_records=8),
    quarantine=QuarantineSpec(max_ratio=0.25, min_records=4),
)
SECRET = b'{"type": "click", "card": "4111-secret"'
OTHER_SECRET = b'["4222-secret"]'


def broken_story() -> Story:
    """A window of four good records was delivered; one with two kinds of broken ones comes next."""
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once(STRICT) == 0
    story.cluster.append(TOPIC, 0, SECRET, *events("click", 2), SECRET, OTHER_SECRET)
    return story


def halt(story: Story) -> Halted | None:
    """What another process reads now."""
    journal = story.journal()
    return read_halted(journal, journal.open().state)


def found_halt(story: Story) -> Halted:
    found = halt(story)
    assert found is not None
    return found


def accept(story: Story) -> None:
    journal = story.journal()
    accept_next(journal, journal.open().state, "ann", "known", "2026-11-18T00:00:00+00:00")


def left(story: Story) -> list[str]:
    return list_keys(story.store, HALTED)


def test_a_window_that_is_refused_is_told_with_code_positions_reasons_and_what_to_do() -> None:
    story = broken_story()
    assert story.run_once(STRICT) == 5
    found = found_halt(story)
    assert found.code == "QUARANTINE_RATIO"
    assert found.sentence.startswith("3 of 5 records of the next window of feed 'feed' are broken")
    assert f"for example NOT_JSON at {TOPIC}/0/4" in found.sentence
    assert "errors accept feed" in found.advice
    assert [(r.topic, r.partition, r.start, r.end) for r in found.ranges] == [(TOPIC, 0, 4, 9)]
    assert sum(found.reasons.values()) == 3
    first, second = found.groups
    assert (first.count, str(first.first), str(first.last)) == (2, f"{TOPIC}/0/4", f"{TOPIC}/0/7")
    assert (second.count, list(map(str, second.samples))) == (1, [f"{TOPIC}/0/8"])


def test_the_line_of_a_window_has_the_number_of_quarantined_records() -> None:
    """Goal: a window that was accepted and could deliver little does not look like any other."""
    story = broken_story()
    story.run_once(STRICT)
    accept(story)
    assert story.run_once(STRICT) == 0
    [line] = [line for line in story.said if line.startswith("window:")]
    assert ", 3 quarantined, 0 to go" in line


def test_a_feed_that_starts_at_offsets_of_its_partitions_halts_as_any_other() -> None:
    story = broken_story()
    start = StartSpec("offsets", offsets={TOPIC: {0: 0, 1: 0}})
    assert story.run_once(msgspec.structs.replace(STRICT, start=start)) == 5
    assert found_halt(story).code == "QUARANTINE_RATIO"


def test_values_of_records_lie_only_in_the_samples_that_errors_shows() -> None:
    story = broken_story()
    story.run_once(STRICT)
    found = found_halt(story)
    assert b"secret" not in msgspec.json.encode(found)
    state = story.journal().open().state
    shown = halt_of(story.journal(), state)
    assert shown is not None
    assert "secret" not in json.dumps(msgspec.to_builtins(shown))
    kept = [each.record.value for each in read_samples(story.journal(), found)]
    assert kept == [SECRET, SECRET, OTHER_SECRET]


def test_a_halt_survives_restarts_and_is_told_since_the_first_of_them() -> None:
    story = broken_story()
    story.run_once(STRICT)
    first = found_halt(story)
    story.clock.passes(3_600.0)
    assert story.run_once(STRICT) == 5
    again = found_halt(story)
    assert (again.since, again.code) == (first.since, first.code)
    assert again.at > first.at
    assert again.epoch == first.epoch + 1
    assert len(left(story)) == 2, "what the halt before left is gone"


def test_another_cause_is_told_since_it_came() -> None:
    story = broken_story()
    story.run_once(STRICT)
    first = found_halt(story)
    story.clock.passes(60.0)
    story.cluster.expire(TOPIC, 0, before=6)
    assert story.run_once(STRICT) == 5
    again = found_halt(story)
    assert again.code == "GAP"
    assert again.since > first.since
    assert [str(place) for place in again.places] == [f"{TOPIC}/0 [4, 6)"]
    assert left(story) == [f"{HALTED}/{again.epoch}-{again.number:020}.json"]


def test_once_the_window_is_accepted_the_feed_goes_on_and_nothing_is_left() -> None:
    story = broken_story()
    story.run_once(STRICT)
    accept(story)
    shown = halt_of(story.journal(), story.journal().open().state)
    assert shown is not None
    assert shown.accepted_by == "ann"
    assert "accepted by ann" in lines_of(shown)[-1]
    assert story.run_once(STRICT) == 0
    assert halt(story) is None
    assert left(story) == []
    assert story.quarantined() == places(0, 4, 7, 8)


def test_a_claim_alone_makes_it_void() -> None:
    story = broken_story()
    story.run_once(STRICT)
    journal = story.journal()
    journal.claim(journal.open(), "somebody")
    assert halt(story) is None
    assert len(left(story)) == 2


@pytest.mark.parametrize(("epoch", "number"), [(-1, 0), (-1, 1), (1, 0), (0, -1), (0, 1)], ids=str)
def test_word_of_another_epoch_or_entry_says_nothing(epoch: int, number: int) -> None:
    """Goal: neither a zombie's word nor that of a restored copy is taken for the present."""
    story = broken_story()
    story.run_once(STRICT)
    found = found_halt(story)
    for key in left(story):
        story.store.delete(key)
    moved = msgspec.structs.replace(found, epoch=found.epoch + epoch, number=found.number + number)
    write_halted(story.journal(), moved)
    assert halt(story) is None
    accept(story)
    assert story.run_once(STRICT) == 0
    assert story.quarantined() == places(0, 4, 7, 8)


def test_word_that_is_valid_by_name_holds_up_no_run() -> None:
    """Goal: it decides nothing. Method: a halt that never was, before each of several runs."""
    story = broken_story()
    story.run_once(STRICT)
    invented = found_halt(story)
    accept(story)
    assert story.run_once(STRICT) == 0
    for count in (1, 2):
        state = story.journal().open().state
        moved = msgspec.structs.replace(invented, epoch=state.epoch, number=state.number + 1)
        write_halted(story.journal(), moved)
        assert halt(story) is not None
        story.cluster.append(TOPIC, 1, *events("click", 3))
        assert story.run_once(STRICT) == 0
        assert story.delivered() == places(0, *range(4), 5, 6) + places(1, *range(3 * count))


WRITES = [
    Fault(call, what, f"{HALTED}/*", nth)
    for call in ("create", "delete")
    for nth in (1, 2)
    for what in (What.DIE_BEFORE, What.DIE_AFTER)
]


@pytest.mark.parametrize("fault", WRITES, ids=lambda each: f"{each.call} {each.nth} {each.what}")
def test_a_death_while_word_is_left_changes_nothing(fault: Fault) -> None:
    """Goal: a crash between the halt and its objects is as harmless as no halt at all."""
    story = broken_story()
    inner = story.store
    story.run_once(STRICT)  # so that there is something to delete
    story.store = FaultStore(inner, [fault])
    with pytest.raises(Died):
        story.run_once(STRICT)
    story.store = inner
    assert story.run_once(STRICT) == 5
    assert found_halt(story).code == "QUARANTINE_RATIO"
    accept(story)
    assert story.run_once(STRICT) == 0
    assert story.delivered() == places(0, *range(4), 5, 6)
    assert story.quarantined() == places(0, 4, 7, 8)
    assert left(story) == []


@pytest.mark.parametrize("call", ["create", "delete"])
def test_a_death_while_old_word_is_removed_changes_nothing(call: str) -> None:
    story = broken_story()
    inner = story.store
    story.run_once(STRICT)
    accept(story)
    faults = [Fault(call, What.DIE_BEFORE, f"{HALTED}/*")]
    story.store = FaultStore(inner, faults)
    if call == "delete":
        with pytest.raises(Died):
            story.run_once(STRICT)
    else:
        assert story.run_once(STRICT) == 0, "a feed that goes on writes nothing of that kind"
    story.store = inner
    story.cluster.append(TOPIC, 0, *events("click", 1))
    assert story.run_once(STRICT) == 0
    assert story.quarantined() == places(0, 4, 7, 8)
    assert left(story) == []


@pytest.mark.parametrize("what", [What.FAIL_BEFORE, What.FAIL_AFTER])
@pytest.mark.parametrize("call", ["create", "list_objects"])
def test_word_that_cannot_be_left_does_not_hide_the_cause(call: str, what: What) -> None:
    story = broken_story()
    inner = story.store
    story.store = FaultStore(inner, [Fault(call, what, f"{HALTED}*", n) for n in range(1, 9)])
    assert story.run_once(STRICT) == 5
    assert "QUARANTINE_RATIO" in next(line for line in story.said if line.startswith("halted"))
    if not (call == "create" and what is What.FAIL_AFTER):
        assert story.said[-1].startswith("halt_unrecorded: ")
    story.store = inner
    accept(story)
    assert story.run_once(STRICT) == 0
    assert story.quarantined() == places(0, 4, 7, 8)


def test_old_word_that_cannot_be_removed_is_told_and_removed_later() -> None:
    story = broken_story()
    inner = story.store
    story.run_once(STRICT)
    accept(story)
    story.store = FaultStore(inner, [Fault("delete", What.FAIL_BEFORE, f"{HALTED}/*")])
    assert story.run_once(STRICT) == 0
    assert any(line.startswith("halt_not_removed: ") for line in story.said)
    story.store = inner
    story.cluster.append(TOPIC, 0, *events("click", 1))
    assert story.run_once(STRICT) == 0
    assert left(story) == []


def test_what_commands_have_decided_meanwhile_does_not_make_the_word_void() -> None:
    """Goal: the word is about the newest entry. Method: an entry is appended while it is read."""
    story = broken_story()

    def decide() -> None:
        journal = story.journal()
        fold = journal.open()
        journal.append(fold, Park("click", 0, "on purpose"), fold.state.epoch)
        journal.append(fold, Unpark("click", "ann"), fold.state.epoch)

    story.cluster.on_read("before", decide)
    assert story.run_once(STRICT) == 5
    assert found_halt(story).code == "QUARANTINE_RATIO"


def test_an_owner_that_was_fenced_leaves_no_word() -> None:
    story = broken_story()

    def take_over() -> None:
        journal = story.journal()
        journal.claim(journal.open(), "another")

    story.cluster.on_read("before", take_over)
    story.run_once(STRICT)
    assert left(story) == []


def test_a_journal_that_is_damaged_needs_no_word() -> None:
    """Whoever reads it finds that by itself; and a feed that cannot be opened has no state."""
    story = broken_story()
    key = story.journal().layout.entry(1)
    raw = story.store.read(key) or b""
    assert isinstance(story.store, MemoryStore)
    story.store.delete(key)
    story.store.create(key, raw[:-3])
    assert story.run_once(STRICT) == 5
    with pytest.raises(PenstockError, match="ENTRY_DAMAGED"):
        halt(story)
    assert left(story) == []


def test_samples_and_groups_are_bounded() -> None:
    story = Story()
    long = b'{"type": "' + b"x" * 50_000
    story.cluster.append(TOPIC, 0, *[long] * 400)
    feed = msgspec.structs.replace(STRICT, window=WindowSpec(max_records=1_000))
    assert story.run_once(feed) == 5
    found = found_halt(story)
    samples = read_samples(story.journal(), found)
    assert sum(group.count for group in found.groups) == 400
    assert len(samples) <= 5
    assert all(len(each.record.value or b"") <= 16_384 for each in samples)
    assert {each.record.value_bytes for each in samples} == {len(long)}


REFUSED = {
    "SCHEMA_REFUSED": msgspec.structs.replace(
        STRICT,
        datasets=(
            DatasetSpec(
                "click", "jsonschema", '{"type": "object", "properties": {"n": {"type": "string"}}}'
            ),
        ),
    ),
    "CONVERT_REFUSED": msgspec.structs.replace(
        STRICT, convert=(ConvertSpec(verb="flatten", paths=("n",)),)
    ),
    "FORMAT_CHANGED": msgspec.structs.replace(STRICT, format="orc"),
    "PARTITION_CHANGED": msgspec.structs.replace(
        STRICT, partition=(PartitionKey("day"), PartitionKey("hour"))
    ),
}


@pytest.mark.parametrize("code", REFUSED)
def test_a_configuration_that_is_refused_is_told_as_a_halt_is(code: str) -> None:
    """Goal: in a service whose other feeds run on, `status` says why this one does not.

    And it is told before Spark and the source are waited for.
    """
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once(STRICT) == 0
    story.clock.passes(60.0)
    waited: list[str] = []
    tools = FeedTools(
        lambda spec: ListSource(spec, story.cluster),
        story.store,
        story.clock.around(),
        wait_until_ready=lambda: waited.append("Spark"),
    )
    runner = Runner((REFUSED[code],), tools, lambda _: None, lambda: False, RunSpec(once=False))
    assert runner.run() == 2
    assert waited == []
    found = found_halt(story)
    assert (found.code, found.window) == (code, "")
    assert found.advice
    shown = halt_of(story.journal(), story.journal().open().state)
    assert shown is not None
    assert lines_of(shown)[0].startswith(f"refused since {found.since}: {code}: ")
    assert story.run_once(STRICT) == 0
    assert halt(story) is None


def test_a_second_instance_with_a_refused_configuration_says_nothing_about_the_feed() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once(STRICT) == 0
    lease = FeedLease(
        story.store,
        Layout("feed"),
        Contender("other", this_process(), is_dead),
        story.clock.around(),
    )
    assert lease.try_take() is None
    assert story.run_once(REFUSED["SCHEMA_REFUSED"]) == 2
    assert left(story) == []


def test_datasets_that_are_parked_are_told_as_a_halt_is() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once(STRICT) == 0
    inner = story.store
    story.cluster.append(TOPIC, 0, *events("click", 4))
    story.store = FaultStore(
        inner, [Fault("publish", What.FAIL_BEFORE, "feed/*", n) for n in range(1, 99)]
    )
    feed = msgspec.structs.replace(STRICT, publish=PublishSpec(tries=1))
    assert story.run_once(feed) == 5
    story.store = inner
    found = found_halt(story)
    assert found.code == "DATASET_PARKED"
    assert "click" in found.sentence
    assert story.run_once(STRICT) == 0
    assert halt(story) is None


def test_a_passing_cause_is_no_halt() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once(STRICT) == 0
    story.cluster.append(TOPIC, 0, *events("click", 4))
    inner = story.store
    story.store = FaultStore(
        inner, [Fault("open_staged", What.FAIL_BEFORE, "*", n) for n in range(1, 99)]
    )
    assert story.run_once(STRICT) == 1
    story.store = inner
    assert halt(story) is None
