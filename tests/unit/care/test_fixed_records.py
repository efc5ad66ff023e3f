"""Corrected records: exported, edited, delivered under their positions, once, with an author.

Method: a feed whose records are a list in memory refuses some; a person edits the exported lines.
Whatever is delivered is read by pyarrow alone, and audited.
"""

import io
import json
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.audit.receipt import Corrected, Receipt
from penstock.audit.shallow import audit
from penstock.care.errors import ExportRefused, FixedRefused
from penstock.care.export_records import export_lines, waiting_parts
from penstock.care.fixed_file import open_fixed_file
from penstock.care.fixed_records import FixedRecords
from penstock.care.new_file import write_new_file
from penstock.care.replay import live_records
from penstock.care.replay_feed import Replayed, ReplayRequest, ReplayTools, replay_feed
from penstock.datapath.schemas.learning import Learning
from penstock.errors import EntryRefused, OutcomeUnknown
from penstock.model.entries import Replay
from penstock.model.spec import DecodeSpec, FeedSpec, TimeSpec
from penstock.ports.store.list_keys import list_keys
from penstock.runtime.parallel import ParallelMap, in_this_process
from penstock.testing.list_source import ListedRecord
from penstock.testing.memory_store import Act
from tests.helpers.journals import WatchedStore
from tests.helpers.list_story import FEED, TOPIC, TORN, Story, places

STRICT = msgspec.structs.replace(FEED, time=TimeSpec(field="at", unit="s"))
AT = 1_799_999_000
NOT_UTF8 = b'{"type": "click", "n": "\xff"}'
Line = dict[str, Any]


def event(**fields: object) -> bytes:
    return json.dumps({"type": "click", **fields}).encode()


class Killed(BaseException):
    """The process is gone."""


class FixingStory(Story):
    """A feed that has delivered one record and refused five, and a person with an editor."""

    def __init__(self, directory: Path, feed: FeedSpec = STRICT) -> None:
        super().__init__()
        self.feed = feed
        self.file = directory / "broken.jsonl"
        self.store = self.watched = WatchedStore()
        headers = ListedRecord(TORN, b"k\xff", headers=(("h", b"1"), ("h", b"\xfe")))
        self.cluster.append(TOPIC, 0, event(n=0, at=AT), event(n=1), event(n=2, at="?"), headers)
        self.cluster.append(TOPIC, 1, NOT_UTF8, event(n=4, at=1))
        assert self.run_once(feed) == 0

    def export(self) -> list[Line]:
        """`penstock errors export`; the lines as a person sees them."""
        self.file.unlink(missing_ok=True)
        journal = self.journal()
        parts = waiting_parts(journal.open(deep=True))
        write_new_file(str(self.file), export_lines(self.store, parts))
        lines = [json.loads(line) for line in self.file.read_bytes().splitlines()]
        return sorted(lines, key=lambda line: str(line["position"]))

    def edit(self, **values: object) -> None:
        """Export, and set the values of some records by `p0_1` for partition 0, offset 1."""
        lines = self.export()
        for line in lines:
            _, partition, offset = line["position"].split("/")
            name = f"p{partition}_{offset}"
            if name in values:
                line["value"] = values.pop(name)
        assert not values
        self.write(lines)

    def write(self, lines: list[Line]) -> None:
        self.file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def compared(self) -> FixedRecords:
        """What the command finds out before it does anything."""
        journal = self.journal()
        fold = journal.open(deep=True)
        file = open_fixed_file(str(self.file), live_records(fold))
        fixed = FixedRecords(file, "wrong clock", self.store, journal.layout)
        fixed.compare(fold)
        return fixed

    def fix(self, parallel: ParallelMap = in_this_process) -> Replayed:
        """`penstock errors replay --fixed FILE --execute`."""
        fixed, journal = self.compared(), self.journal()

        @contextmanager
        def open_parallel() -> Iterator[ParallelMap]:
            yield parallel

        def open_learning() -> Learning:
            return Learning(self.store, journal.layout, self.feed, None)

        tools = ReplayTools(self.feed, self.clock.around(), open_learning, open_parallel)
        request = ReplayRequest("ann", corrected=fixed)
        return replay_feed(journal, journal.open(deep=True), request, tools)

    def values(self, dataset: str = "click") -> dict[tuple[int, int], object]:
        """The column `n` of all visible rows, by position."""
        found = {}
        for key in list_keys(self.store, f"feed/{dataset}"):
            table = pq.read_table(io.BytesIO(self.store.read(key) or b""))
            for row in table.to_pylist():
                found[row["_partition"], row["_offset"]] = row["n"]
        return found

    def audited(self) -> Receipt:
        """A deep audit, which must agree with the shallow one."""
        tools = DeepTools(in_this_process, None, lambda: 0.0)
        deep = deep_audit(self.journal(), DeepSpec(), tools)
        assert (audit(self.journal()).verdict, deep.verdict) == ("ok", "ok"), deep.differences
        return deep

    def corrections(self) -> list[str]:
        return list(list_keys(self.store, self.journal().layout.corrections))


@pytest.fixture
def story(tmp_path: Path) -> FixingStory:
    return FixingStory(tmp_path)


def test_an_exported_line_has_all_that_a_person_needs(story: FixingStory) -> None:
    lines = story.export()
    assert [line["position"] for line in lines] == [
        "events/0/1", "events/0/2", "events/0/3", "events/1/0", "events/1/1",
    ]  # fmt: skip
    torn = lines[2]
    assert (torn["reason"], torn["dataset"]) == ("NOT_JSON", "")
    assert torn["value"] == TORN.decode()
    assert torn["key"] == {"base64": "a/8="}
    assert torn["headers"] == [
        {"key": "h", "value": "1"},
        {"key": "h", "value": {"base64": "/g=="}},
    ]
    assert "base64" in lines[3]["value"]
    assert lines[0]["detail"] == "at: absent or null"
    assert stat.S_IMODE(story.file.stat().st_mode) == 0o600


def test_an_export_never_overwrites_and_leaves_nothing_half(story: FixingStory) -> None:
    story.file.write_text("mine")
    with pytest.raises(ExportRefused, match="already"):
        write_new_file(str(story.file), iter([b"x\n"]))
    assert story.file.read_text() == "mine"

    def torn() -> Iterator[bytes]:
        yield b"x\n"
        raise Killed

    with pytest.raises(Killed):
        write_new_file(str(story.file.with_name("other")), torn())
    assert list(story.file.parent.iterdir()) == [story.file]
    with pytest.raises(ExportRefused):
        write_new_file(str(story.file.parent / "no" / "where"), iter([]))


def test_corrected_records_are_delivered_once_under_their_positions(story: FixingStory) -> None:
    story.edit(p0_1=event(n=11, at=AT).decode(), p0_3=event(n=33, at=AT).decode(), p1_0="{}")
    fixed = story.compared()
    assert (fixed.count, fixed.unchanged) == (3, [2, 5])
    done = story.fix()
    assert (done.tried, done.delivered, dict(done.stays)) == (3, 2, {"ROUTE_MISSING": 1})
    assert story.delivered() == places(0, 0, 1, 3)
    assert story.values() == {(0, 0): 0, (0, 1): 11, (0, 3): 33}
    receipt = story.audited()
    assert receipt.corrected == (Corrected(done.entries[0], 2, "ann", "wrong clock"),)
    assert story.quarantined() == places(0, 1, 2, 3) + places(1, 0, 1), "it keeps what came"
    (entry,) = story.entries(Replay)
    assert (entry.author, entry.corrections.reason) == ("ann", "wrong clock")
    assert [each.key for each in entry.corrections.files] == story.corrections()


def test_the_corrected_bytes_stay_in_the_lake(story: FixingStory) -> None:
    story.edit(p0_1=event(n=11, at=AT).decode())
    story.fix()
    (key,) = story.corrections()
    (row,) = pq.read_table(io.BytesIO(story.store.read(key) or b"")).to_pylist()
    assert (row["_offset"], row["value"]) == (1, event(n=11, at=AT))
    assert row["reason"] == "TIME_MISSING"


def test_lines_that_were_delivered_are_refused_and_nothing_is_written(story: FixingStory) -> None:
    story.edit(p0_1=event(n=11, at=AT).decode())
    story.fix()
    before = len(story.watched.acts)
    with pytest.raises(FixedRefused, match="line 1: events/0/1 does not wait in the quarantine"):
        story.fix()
    assert not story.watched.created("")[before:]
    assert len(story.entries(Replay)) == 1
    assert story.delivered() == places(0, 0, 1)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"position": "events/0/77"}, "events/0/77 does not wait"),
        ({"position": "events/0/0"}, "events/0/0 does not wait"),
        ({"position": "other/0/1"}, "other/0/1 does not wait"),
        ({"position": "events/1/0"}, "events/1/0 is on line 4|events/1/0 does not wait"),
        ({"position": "events-1"}, "topic/partition/offset"),
        ({"row": 3}, "row 3"),
        ({"topic_id": "another"}, "does not wait"),
        ({"valeu": ""}, "unknown field"),
        ({"value": {"base64": "*"}}, "the base64 of value"),
        ({"value": 17}, "its value is not a text .*write it as a JSON text"),
        ({"value": {"type": "click"}}, "its value is not a text .*write it as a JSON text"),
        ({"key": {"id": 1}}, "its key is not a text"),
        ({"headers": {"h": "x"}}, "Expected"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_before_anything_is_written(
    story: FixingStory, change: Line, why: str
) -> None:
    lines = story.export()
    lines.append(lines.pop(0) | change)
    story.write(lines)
    before = len(story.watched.acts)
    with pytest.raises(FixedRefused, match=f"line 5: .*({why})"):
        story.fix()
    assert all(act.name not in ("create", "stage") for act in story.watched.acts[before:])


def test_all_mistakes_are_told_at_once(story: FixingStory) -> None:
    lines = story.export()
    story.write([lines[0], lines[0], {**lines[1], "position": "x/0/0"}])
    story.file.write_text(story.file.read_text() + "no json\n\n" + '{"position": "events/0/1"}\n')
    with pytest.raises(FixedRefused) as caught:
        story.fix()
    assert [each.number for each in caught.value.mistakes] == [2, 3, 4, 6]
    story.file.write_text("\n")
    with pytest.raises(FixedRefused, match="no line"):
        story.fix()


def test_lines_with_the_same_cause_are_told_together(story: FixingStory) -> None:
    line = story.export()[0]
    story.write([line | {"position": f"events/0/{offset}"} for offset in range(100, 130)])
    with pytest.raises(FixedRefused) as caught:
        story.fix()
    told = str(caught.value)
    assert "line 1: events/0/100 does not wait in the quarantine" in told
    assert "(the same in lines 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more)" in told
    assert told.count("does not wait") == 1
    story.file.write_text(json.dumps([line, line], indent=1))
    with pytest.raises(FixedRefused, match=r"it is not a JSON object .*; a line is one record"):
        story.fix()


def test_a_file_without_a_change_changes_nothing(story: FixingStory) -> None:
    story.export()
    fixed = story.compared()
    assert (fixed.count, len(fixed.unchanged)) == (0, 5)
    done = story.fix()
    assert done.is_untried
    assert story.corrections() == []


def test_key_and_headers_can_be_corrected_too_and_stay_without_being_named(
    tmp_path: Path,
) -> None:
    feed = msgspec.structs.replace(STRICT, include=("key", "headers"))
    story = FixingStory(tmp_path, feed)
    lines = story.export()
    good = event(n=1, at=AT).decode()
    story.write(
        [
            {"position": "events/0/1", "value": good, "key": "k", "headers": []},
            {"position": "events/0/3", "value": good},
            {**lines[3], "value": good, "headers": [{"key": "a", "value": {"base64": "/w=="}}]},
        ]
    )
    assert story.fix().delivered == 3
    found = {}
    for key in list_keys(story.store, "feed/click"):
        for row in pq.read_table(io.BytesIO(story.store.read(key) or b"")).to_pylist():
            found[row["_partition"], row["_offset"]] = (row["_key"], row["_headers"])
    assert found[0, 1] == (b"k", None)
    key, headers = found[0, 3]
    assert key == b"k\xff"
    assert [each["value"] for each in json.loads(headers)] == ["MQ==", "/g=="]
    assert json.loads(found[1, 0][1]) == [{"key": "a", "value": "/w=="}]
    story.audited()


def test_a_corrected_element_of_an_array_takes_the_place_of_its_row(tmp_path: Path) -> None:
    feed = msgspec.structs.replace(STRICT, decode=DecodeSpec(spread=True))
    story = FixingStory(tmp_path, feed)
    story.cluster.append(TOPIC, 1, b"[" + event(n=5, at=AT) + b"," + event(n=6) + b"]", b"[1")
    assert story.run_once(feed) == 0
    lines = [line for line in story.export() if line["position"] in ("events/1/2", "events/1/3")]
    assert [line.get("row", 0) for line in lines] == [1, 0]
    lines[0]["value"] = event(n=66, at=AT).decode()
    lines[1]["value"] = f"[{event(n=7, at=AT).decode()}, {event(n=8, at=AT).decode()}]"
    story.write(lines)
    done = story.fix()
    assert done.delivered == 2
    assert story.delivered() - places(0, 0) == places(1, 2, 2, 3, 3)
    assert story.audited().corrected[0].records == 2


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (lambda store, key: store.delete(key), "file_missing"),
        (lambda store, key: _overwrite(store, key, b"x"), "file_size"),
        (lambda store, key: _overwrite(store, key, bytes(len(store.read(key)))), "file_contents"),
    ],
)
def test_an_audit_notices_corrected_bytes_that_are_gone_or_altered(
    story: FixingStory, damage: Callable[[WatchedStore, str], None], kind: str
) -> None:
    story.edit(p0_1=event(n=11, at=AT).decode())
    story.fix()
    (key,) = story.corrections()
    damage(story.watched, key)
    tools = DeepTools(in_this_process, None, lambda: 0.0)
    found = deep_audit(story.journal(), DeepSpec(), tools).differences
    assert [(each.kind, each.file) for each in found] == [(kind, key)]
    if kind != "file_contents":
        assert [each.kind for each in audit(story.journal()).differences] == [kind]


def _overwrite(store: WatchedStore, key: str, data: bytes) -> None:
    store.delete(key)
    assert store.create(key, data)


def test_an_owner_that_claims_meanwhile_leaves_no_corrected_bytes_of_a_dead_epoch(
    story: FixingStory,
) -> None:
    story.edit(p0_1=event(n=11, at=AT).decode())
    stagings: list[int] = []

    def claimed_meanwhile(what: str, work: Any, items: Any, weight: Any) -> Any:
        done = in_this_process(what, work, items, weight)
        if not stagings:
            assert story.run_once(STRICT) == 0
        stagings.append(len(items))
        return done

    assert story.fix(claimed_meanwhile).delivered == 1
    assert len(stagings) > 1
    (entry,) = story.entries(Replay)
    assert story.corrections() == [each.key for each in entry.corrections.files]
    story.audited()


def test_records_that_another_replay_takes_meanwhile_are_not_delivered_twice(
    story: FixingStory,
) -> None:
    story.edit(p0_1=event(n=11, at=AT).decode(), p0_2=event(n=22, at=AT).decode())
    other: list[Replayed] = []

    def fixed_meanwhile(what: str, work: Any, items: Any, weight: Any) -> Any:
        if not other:
            other.append(Replayed())
            other[0] = story.fix()
        return in_this_process(what, work, items, weight)

    with pytest.raises(EntryRefused):
        story.fix(fixed_meanwhile)
    assert other[0].delivered == 2
    assert story.values() == {(0, 0): 0, (0, 1): 11, (0, 2): 22}
    assert len(story.corrections()) == 1
    story.audited()


@pytest.mark.parametrize("reply_is_lost", [False, True])
def test_a_correction_that_is_killed_anywhere_is_done_once_when_it_is_repeated(
    tmp_path: Path, reply_is_lost: bool
) -> None:
    """Goal: landed, not landed, unknown. Method: die before, or after, each act that writes."""
    deaths, finished = 0, False
    while not finished:
        story = FixingStory(tmp_path)
        story.edit(p0_1=event(n=11, at=AT).decode(), p0_3=event(n=33, at=AT).decode())
        perform = story.watched._perform
        left = [deaths]

        def dying(act: Act, perform: Any = perform, left: list[int] = left) -> Any:
            if act.name in ("read", "list", "head", "look"):
                return perform(act)
            left[0] -= 1
            if left[0] == -1 and not reply_is_lost:
                raise Killed
            answer = perform(act)
            if left[0] == -1:
                raise Killed
            return answer

        story.watched._perform = dying  # type: ignore[method-assign]
        try:
            story.fix()
            finished = True
        except Killed:
            deaths += 1
        story.watched._perform = perform  # type: ignore[method-assign]
        assert story.run_once(STRICT) == 0, "the owner finishes what was decided"
        with suppress(FixedRefused):  # they are delivered already
            story.fix()
        assert story.values() == {(0, 0): 0, (0, 1): 11, (0, 3): 33}
        assert story.delivered() == places(0, 0, 1, 3)
        assert len(story.entries(Replay)) == 1
        story.audited()
    assert deaths > 5


def test_corrected_bytes_stay_if_it_is_not_known_whether_they_were_decided(
    story: FixingStory,
) -> None:
    story.edit(p0_1=event(n=11, at=AT).decode())
    journal, perform = story.journal().layout.journal, story.watched._perform

    def no_answer(act: Act) -> Any:
        if act.name == "create" and act.key.startswith(journal):
            raise OutcomeUnknown("create", act.key, "no answer")
        return perform(act)

    story.watched._perform = no_answer  # type: ignore[method-assign]
    with pytest.raises(OutcomeUnknown):
        story.fix()
    story.watched._perform = perform  # type: ignore[method-assign]
    assert len(story.corrections()) == 1
