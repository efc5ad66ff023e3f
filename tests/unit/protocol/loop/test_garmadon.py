"""The timelines of Garmadon's design, event by event, on the real owner and a real directory.

A, B and C are event types in one partition. Its design commits an offset once every event below
it lies in its final place; `settled` is that offset here. A window decides all its types together,
so we are allowed to be further than its tables, and never behind them. On Kafka and Spark the same
stories run in `tests/integration/test_garmadon.py`.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock.care.seek import unpark
from penstock.errors import Fenced
from penstock.model.entries import Window
from penstock.model.evidence import Evidence
from penstock.model.manifest import ManifestFile
from penstock.model.names import FileName
from penstock.model.ranges import OffsetRange
from penstock.model.window import StageOrder
from penstock.protocol.loop.owner import Owner
from tests.helpers.flaky_store import FOR_GOOD, FlakyStore
from tests.helpers.journals import an_owner, decided_only
from tests.simulator.kafka import SimKafka, SimSource, rows_as_bytes
from tests.simulator.programs import FEED, Room, surroundings

Stamp = tuple[int, int, bytes]


class Story:
    """One partition that grows, a directory, and owners that come and go."""

    def __init__(self, root: Path, events: Sequence[str], *, by_day: bool = False) -> None:
        self.root = root
        self.events = list(events)
        self.store = FlakyStore(root)
        self.kafka = SimKafka({0: self.events}, {0: 0})
        self._by_day = by_day
        self._owners = 0

    def room(self) -> Room:
        """What the next process is given."""
        self._owners += 1
        name = f"owner-{self._owners}"
        return Room(name, self.store, surroundings(name), self.kafka)

    def owner(self, max_records: int = 1000, park_after: int = 1) -> Owner:
        """A new owner; whoever was it before is fenced."""
        room = self.room()
        source = (DaySource if self._by_day else SimSource)(self.kafka, self.store, room.around)
        return an_owner(room, source, max_records, park_after=park_after)

    def reach(self, owner: Owner, latest: int) -> None:
        """Time goes on: the log grows, and the owner delivers until it is idle."""
        self.kafka.latest[0] = latest
        while owner.run_window():
            pass

    def recovered(self, dataset: str) -> None:
        """The sink of a type works again, and somebody says so."""
        self.store.broken.pop(dataset)
        room = self.room()
        unpark(room.journal(), room.around, dataset, "me")

    def visible(self) -> dict[int, list[str]]:
        """The directories in which each offset is found, by walking the tree."""
        found: dict[int, list[str]] = {}
        for path in sorted((self.root / FEED).rglob("*.rows")):
            for _, offset in json.loads(path.read_bytes()):
                below = path.relative_to(self.root / FEED).parts
                found.setdefault(offset, []).append(below[1] if self._by_day else below[0])
        return found

    def settled(self) -> int:
        """The offset below which every event lies in its final place, exactly once."""
        journal = self.room().journal()
        state = journal.open().state
        starts = list(state.watermarks().values())
        for number in state.undone:
            body = journal.require(number).body
            assert isinstance(body, Window)
            starts.append(body.ranges[0].start)
        settled = min(starts, default=0)
        visible = self.visible()
        for offset in range(settled):
            assert visible.get(offset) == [self.wanted(offset)]
        assert all(len(places) == 1 for places in visible.values())
        return settled

    def wanted(self, offset: int) -> str:
        """Where an event belongs."""
        fate = self.events[offset]
        return f"day={fate}" if self._by_day else fate

    def all_is_there(self) -> bool:
        """Each event once, in its place, and nothing else."""
        return self.visible() == {o: [self.wanted(o)] for o in range(len(self.events))}

    def stamps(self, *datasets: str) -> dict[str, Stamp]:
        """Files of some types with what would change if one were written again."""
        return {
            str(path.relative_to(self.root)): (
                path.stat().st_ino,
                path.stat().st_mtime_ns,
                path.read_bytes(),
            )
            for dataset in datasets
            for path in sorted((self.root / FEED / dataset).rglob("*.rows"))
        }


class DaySource(SimSource):
    """One type whose events name their day."""

    def _stage_part(
        self, order: StageOrder, group: int, part: tuple[OffsetRange, ...]
    ) -> list[ManifestFile]:
        (covered,) = part
        days: dict[str, list[int]] = {}
        for offset, day in self._kafka.records(covered):
            days.setdefault(day, []).append(offset)
        return [self._stage_day(order, covered, day, days[day]) for day in sorted(days)]

    def _stage_day(
        self, order: StageOrder, covered: OffsetRange, day: str, offsets: list[int]
    ) -> ManifestFile:
        name = FileName(
            0, covered.topic, covered.partition, covered.start, covered.end, order.window, "rows"
        )
        spot = order.spot(self._around.nonce()[:8])
        writer = self._store.open_staged(f"{FEED}/event/day={day}/{name}", spot)
        writer.write(rows_as_bytes(covered.partition, offsets))
        seen = Evidence.of_positions(covered.topic, covered.partition, offsets)
        return ManifestFile("event", writer.finish(), seen, (covered,))


# Offsets by the diagrams: A's, then B's from O2, then B and C mixed.
HAPPY = "AAAA" + "B" + "BBC" + "BC" + "CC"
HAPPY_TABLE = [(4, 4), (5, 4), (8, 4), (10, 7), (12, 12)]  # log end, Garmadon's offset


def test_garmadon_happy_cases(tmp_path: Path) -> None:
    story = Story(tmp_path, HAPPY)
    owner = story.owner()
    for latest, promised in HAPPY_TABLE:
        story.reach(owner, latest)
        assert promised <= story.settled() == latest
    assert story.all_is_there()


UNHAPPY = "AAAA" + "BB" + "BA" + "BB" + "BC" + "CB" + "CC"
#               t1        t2        t3        t4         t5         t6         t7
UNHAPPY_TABLE = [(4, 0), (6, 0), (8, 4), (10, 4), (12, 4), (14, 11), (16, 16)]


def test_garmadon_unhappy_cases_s8_a_type_whose_sink_fails_holds_nobody_back(
    tmp_path: Path,
) -> None:
    """Goal: A is not passed by, B and C are visible at once. Method: A fails from t1 to t3."""
    story = Story(tmp_path, UNHAPPY)
    owner = story.owner()
    story.store.broken["A"] = FOR_GOOD
    for step, (latest, promised) in enumerate(UNHAPPY_TABLE, start=1):
        if step == 3:
            assert story.settled() == 0
            assert Counter(map(str, story.visible().values())) == {"['B']": 2}
            story.recovered("A")
        story.reach(owner, latest)
        owner.recover()
        assert story.settled() >= promised
        assert story.settled() == (0 if step < 3 else latest)
    assert story.all_is_there()


def test_garmadon_unhappy_cases_s8_what_was_written_is_not_written_again_on_restart(
    tmp_path: Path,
) -> None:
    """Goal: B and C keep their very files. Method: A fails, three restarts, A recovers."""
    story = Story(tmp_path, UNHAPPY)
    story.store.broken["A"] = FOR_GOOD
    story.reach(story.owner(), len(UNHAPPY))
    before = story.stamps("B", "C")
    assert len(before) == 2
    assert story.stamps("A") == {}
    for _ in range(3):
        story.reach(story.owner(), len(UNHAPPY))
    assert (story.stamps("A"), story.stamps("B", "C")) == ({}, before)
    story.recovered("A")
    story.reach(story.owner(), len(UNHAPPY))
    assert story.stamps("B", "C") == before
    assert story.all_is_there()


def test_garmadon_unhappy_cases_a_short_failure_needs_nobody(tmp_path: Path) -> None:
    story = Story(tmp_path, UNHAPPY)
    story.store.broken["A"] = 3
    story.reach(story.owner(park_after=4), len(UNHAPPY))
    assert story.store.refusals == 3
    assert story.all_is_there()


@pytest.mark.parametrize("published", range(4))
def test_garmadon_duplicate_events_on_restart(tmp_path: Path, published: int) -> None:
    """Some types are in place and the owner dies: the next one adds the others only."""
    story = Story(tmp_path, "ABCABC")
    story.kafka.latest[0] = 6
    number = decided_only(story.owner())
    journal = story.room().journal()
    files = journal.content_of(journal.require(number).body).files
    assert len(files) == 3
    for file in files[:published]:
        story.store.publish(file.handle)
    before = story.stamps("A", "B", "C")
    story.reach(story.owner(max_records=2), 6)
    after = story.stamps("A", "B", "C")
    assert len(after) == 3
    assert {name: after[name] for name in before} == before
    assert story.all_is_there()


@pytest.mark.parametrize("old_end", [3, 7], ids=["O1<O2", "O1>O2"])
@pytest.mark.parametrize("old_is_first", [True, False], ids=["C1 first", "C2 first"])
def test_garmadon_rebalancing(tmp_path: Path, old_end: int, old_is_first: bool) -> None:
    """C1 has read to O1 and C2 to O2 = 5, both from O0; whoever ends first, all is there once."""
    story = Story(tmp_path, "ABBABABA")
    first = story.owner()
    story.kafka.latest[0] = old_end
    order = first.plan()
    assert order is not None
    staged = first.stage(order)
    content = first.prove(order, staged)
    second = story.owner()
    story.kafka.latest[0] = 5
    if old_is_first:
        with pytest.raises(Fenced):
            first.decide(order, staged, content)
        story.reach(second, 5)
    else:
        story.reach(second, 5)
        with pytest.raises(Fenced):
            first.decide(order, staged, content)
    assert story.settled() == 5
    story.reach(second, 8)
    assert story.all_is_there()


def test_garmadon_rebalancing_an_owner_that_decided_in_time_is_finished_by_the_next(
    tmp_path: Path,
) -> None:
    """C1 decided O0 to O1 before C2 came: C2 begins at O1, and both may publish."""
    story = Story(tmp_path, "ABBABABA")
    first = story.owner()
    story.kafka.latest[0] = 3
    decided_only(first)
    second = story.owner()
    story.reach(second, 5)
    first.recover()  # it still sleeps in its own publish, and wakes late
    assert story.settled() == 5
    story.reach(second, 8)
    assert story.all_is_there()


def test_garmadon_app_restart_first_and_second_run(tmp_path: Path) -> None:
    """F fails all through the first run; the second one has other window bounds."""
    story = Story(tmp_path, "FSFSSFSSSF")
    story.store.broken["F"] = FOR_GOOD
    first = story.owner()
    for latest in (4, 8):  # S writes O0 to O1 and O1 to O3
        story.reach(first, latest)
    assert story.settled() == 0
    before = story.stamps("S")
    assert len(before) == 2
    story.recovered("F")
    story.reach(story.owner(max_records=1), 10)
    after = story.stamps("S")
    assert {name: after[name] for name in before} == before
    assert len(after) == 3
    assert story.all_is_there()


#                      t0     t1     t2     t3     t4     t5     t6
DAYS: list[list[str]] = [
    ["D1"], ["D1", "D2"], ["D2", "D1"], ["D1", "D2"], ["D2", "D1"], ["D0"], ["D1", "D0"]
]  # fmt: skip
DAYS_TABLE = [0, 0, 2, 4, 8, 9, 11]  # O0 O0 O1 O2 O4 O5 O6


@pytest.mark.parametrize("restarts", [False, True], ids=["one owner", "a new owner each time"])
def test_garmadon_time_based_partitioning(tmp_path: Path, restarts: bool) -> None:
    """The newest offset is seldom that of the newest day; nothing may be inferred from days."""
    events = [day for step in DAYS for day in step]
    story = Story(tmp_path, events, by_day=True)
    owner = story.owner()
    latest = 0
    for step, promised in zip(DAYS, DAYS_TABLE, strict=True):
        latest += len(step)
        owner = story.owner() if restarts else owner
        story.reach(owner, latest)
        assert promised <= story.settled() == latest
    assert story.all_is_there()
    assert {day for places in story.visible().values() for day in places} == {
        "day=D0", "day=D1", "day=D2"
    }  # fmt: skip


def test_garmadon_sparse_events_s12_a_silent_type_neither_rewinds_nor_gets_filler(
    tmp_path: Path,
) -> None:
    story = Story(tmp_path, "AC" + "A" * 30 + "C")
    for latest in range(2, 33, 3):
        owner = story.owner()
        order = owner.plan()
        assert order is None  # nothing is read again, however long C has been silent
        story.reach(owner, latest)
        assert story.settled() == latest
    assert len(story.stamps("C")) == 1
    story.reach(story.owner(), 33)
    rows = [json.loads(raw) for _, _, raw in story.stamps("C").values()]
    assert sorted(rows) == [[[0, 1]], [[0, 32]]]
    assert story.all_is_there()


def test_garmadon_sparse_events_a_type_that_never_landed_is_not_taken_for_silent(
    tmp_path: Path,
) -> None:
    """Its only event could not be written, and thirty windows of others follow."""
    story = Story(tmp_path, "AC" + "A" * 30)
    story.store.broken["C"] = FOR_GOOD
    for latest in range(2, 33, 3):
        story.reach(story.owner(), latest)
        assert story.settled() == 0
    story.recovered("C")
    story.reach(story.owner(), 32)
    assert story.all_is_there()
