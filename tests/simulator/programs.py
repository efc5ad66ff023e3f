"""What a simulated process runs: the real owner, and the real commands beside it."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

import msgspec

from penstock.api.store import Store
from penstock.care.clean import clean
from penstock.care.compact import Compaction, RewriteOrder, Rewritten, decide_compaction
from penstock.care.done_files import done_files
from penstock.care.finalize import finalize_to
from penstock.care.replay import KeptRecords, ReplayOrder, StagedReplay, live_records, replay
from penstock.care.retire import retire
from penstock.care.seek import Approval, seek_all
from penstock.errors import EntryRefused, OutcomeUnknown, StoreUnavailable
from penstock.model.entries import CorrectedFile, Corrections
from penstock.model.evidence import Evidence
from penstock.model.final_days import Frontier
from penstock.model.layout import Layout
from penstock.model.manifest import ManifestFile, RecordSet
from penstock.model.ranges import OffsetRange, TopicPartition
from penstock.model.staged import StagingSpot
from penstock.model.window import PartitionOffsets, StageOrder
from penstock.ports.store.create_once import create_once
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.loop.feed_rules import TakeEverything
from penstock.protocol.loop.file_planning import FilePolicy
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.tidying import TidyOrder, tidy
from penstock.protocol.loop.window_plan import FirstOffset, WindowPolicy, from_earliest
from penstock.protocol.publish.troubles import PublishPolicy
from penstock.runtime.surroundings import Surroundings
from tests.simulator.facts import values_of
from tests.simulator.kafka import LIFE, STOPPING, TOPIC, TOPIC_ID, SimKafka, SimSource, write_file

FEED, LAKE = "feed", "lake-1"


@dataclass(frozen=True)
class Room:
    """What a process is given: its store, its surroundings, and the source."""

    name: str
    store: Store
    around: Surroundings
    kafka: SimKafka

    def journal(self) -> FeedJournal:
        """A client of the feed's journal."""
        return FeedJournal(self.store, Layout(FEED), LAKE, self.around)


@dataclass(frozen=True)
class GivenRules(TakeEverything):
    """Rules of a test; what it does not say is taken."""

    begin: FirstOffset = from_earliest
    stopping: Callable[[str], bool] = lambda _dataset: False
    wanted: Callable[[str], bool] = lambda _topic: True

    def first_offset(self, topic: str, partition: int, offsets: PartitionOffsets) -> int:
        """Where the test says."""
        return self.begin(topic, partition, offsets)

    def stops(self, dataset: str) -> bool:
        """If the test says so."""
        return self.stopping(dataset)

    def wants(self, topic: str) -> bool:
        """If the test does."""
        return self.wanted(topic)


def is_stopping(dataset: str) -> bool:
    """The one dataset that goes no further after a record that does not fit."""
    return dataset == STOPPING


Program = Callable[[Room], str]
AT_ONCE_AGAIN = PublishPolicy(retry_after_s=0.0)


def surroundings(seed: str) -> Surroundings:
    """A frozen clock, a sleep that returns, and randomness from a seed."""
    return Surroundings(now=lambda: 1_800_000_000.0, sleep=lambda _s: None, random=Random(seed))


GATHERED = FilePolicy("auto")  # all ranges of a window share files


def owner(
    max_records: int = 2,
    max_windows: int = 10,
    checkpoint_every: int = 100,
    first_offset: FirstOffset = from_earliest,
    publish: PublishPolicy = AT_ONCE_AGAIN,
    hand_out: Callable[[TidyOrder], None] | None = None,
    gathering: FilePolicy = GATHERED,
    cores: int | None = 1,
) -> Program:
    """An owner that delivers windows until there is nothing left.

    It tidies between its windows, unless a test takes the orders out of its hands.
    """

    def run(room: Room) -> str:
        spec = OwnerSpec(
            owner=room.name,
            policy=WindowPolicy(max_records),
            files="parquet",
            checkpoint_every=checkpoint_every,
            publish=publish,
            gathering=gathering,
            cores=lambda: cores,
        )
        source = SimSource(room.kafka, room.store, room.around)
        rules = GivenRules(begin=first_offset, stopping=is_stopping)
        mine = Owner(room.journal(), source, room.around, spec, rules, hand_out=hand_out)
        mine.take_over()
        for _ in range(max_windows):
            if not mine.run_window():
                break
        mine.recover()
        return f"idle after {mine.fold.state.number} entries"

    return run


def late_tidying_owner(
    checkpoint_every: int = 2, publish: PublishPolicy = AT_ONCE_AGAIN
) -> Program:
    """An owner that tidies only when it is through, with orders that may be very old by then."""

    def run(room: Room) -> str:
        orders: list[TidyOrder] = []
        try:
            mine = owner(checkpoint_every=checkpoint_every, publish=publish, hand_out=orders.append)
            return mine(room)
        finally:
            for order in orders:
                tidier(order)(room)

    return run


def tidier(order: TidyOrder) -> Program:
    """The thread that tidies for an owner, whatever became of that one meanwhile."""

    def run(room: Room) -> str:
        try:
            tidy(room.store, Layout(FEED), order, room.around.sleep)
        except (StoreUnavailable, OutcomeUnknown) as error:
            return f"told: {error.code}"
        return "tidied"

    return run


def cleaner() -> Program:
    """`clean` beside whoever runs."""
    return lambda room: f"removed {clean(room.journal()).total}"


def seeker(partition: int, to_offset: int) -> Program:
    """`offsets reset` beside whoever runs."""

    def run(room: Room) -> str:
        place = TopicPartition(TOPIC_ID, partition)
        target = min(to_offset, room.kafka.latest[partition])  # Kafka's own tool clamps as well
        return _refusable(
            lambda: seek_all(room.journal(), {place: target}, Approval("me", "simulated"))
        )

    return run


def compactor(dataset: str, most: int = 1_000) -> Program:
    """`compact` beside whoever runs, of so many files at most: the oldest."""

    def run(room: Room) -> str:
        def choose(files: tuple[str, ...]) -> tuple[str, ...]:
            return files[:most]

        wanted = Compaction(dataset, partial(_rewritten, room), choose, author="simulated")
        return _refusable(lambda: decide_compaction(room.journal(), room.around, wanted))

    return run


def directory_compactor(dataset: str, most: int = 2, *, has_flaw: bool = False) -> Program:
    """`penstock compact` beside whoever runs: it plans once, and wants these files or none.

    With a flaw, a library has written another value into one of the rows.
    """

    def run(room: Room) -> str:
        journal = room.journal()
        known = journal.open(deep=True)
        mine = done_files(known, dataset)[:most]

        def choose(files: tuple[str, ...]) -> tuple[str, ...]:
            return mine if set(mine) <= set(files) else ()

        rewrite = partial(_rewritten, room, has_flaw=has_flaw)
        wanted = Compaction(dataset, rewrite, choose, author="simulated")
        return _refusable(lambda: decide_compaction(journal, room.around, wanted, known))

    return run


def retirer(dataset: str, most: int = 1_000) -> Program:
    """Retention that removes live files of a dataset, so many at most: the newest by name."""

    def run(room: Room) -> str:
        journal = room.journal()
        inventory = journal.open(deep=True).inventory
        assert inventory is not None
        files = sorted(f for f, live in inventory.files.items() if live.dataset == dataset)
        inputs = tuple(files[-most:])
        return _refusable(lambda: retire(journal, room.around, dataset, inputs, "me", "simulated"))

    return run


def finalizer(days_before: str = "2026-11-16") -> Program:
    """`finalize` beside whoever runs; all files of the worlds are of one day."""

    def run(room: Room) -> str:
        found = list(finalize_to(room.journal(), room.around, Frontier(days_before), "me"))
        return f"finalized by {len(found)} entries"

    return run


def replayer(dataset: str) -> Program:
    """`errors replay` of the whole quarantine into one dataset."""

    def run(room: Room) -> str:
        def decode(order: ReplayOrder) -> StagedReplay:
            files = tuple(_decode(room, order, dataset, r) for r in order.records)
            return StagedReplay(files, order.records)

        journal = room.journal()
        known = journal.open(deep=True)  # as the command does, long before it decides
        return _refusable(lambda: replay(journal, room.around, "me", decode, None, known))

    return run


@dataclass(frozen=True)
class SimCorrections:
    """Corrected bytes of all records that waited when the command began: an object a window."""

    room: Room
    records: tuple[RecordSet, ...]

    def keep(self, _fold: FeedFold, window: str, topic_ids: frozenset[str]) -> KeptRecords:
        """One object for all of them."""
        mine = [each for each in self.records if each.topic_id in topic_ids]
        data = msgspec.json.encode(mine)
        key = f"{Layout(FEED).corrections}/{window}-0.rows"
        create_once(self.room.store, key, data)
        count = sum(len(each.offsets) for each in mine)
        file = CorrectedFile(key, hashlib.sha256(data).hexdigest(), len(data), count)
        return KeptRecords(Corrections("simulated", (file,)), ((key, ()),))


def corrector(dataset: str) -> Program:
    """`errors replay --fixed` of the whole quarantine into one dataset."""

    def run(room: Room) -> str:
        def decode(order: ReplayOrder) -> StagedReplay:
            ((key, _),) = order.files
            assert room.store.read(key) is not None, "tasks read the corrected bytes"
            files = tuple(_decode(room, order, dataset, r) for r in order.records)
            return StagedReplay(files, order.records)

        journal = room.journal()
        known = journal.open(deep=True)
        fixed = SimCorrections(room, live_records(known))
        return _refusable(lambda: replay(journal, room.around, "me", decode, None, known, fixed))

    return run


def _refusable(command: Callable[[], object]) -> str:
    try:
        command()
    except EntryRefused as error:
        return f"refused: {error.why}"
    return "decided"


def _rewritten(room: Room, order: RewriteOrder, *, has_flaw: bool = False) -> Rewritten:
    rows, file = _rewrite(room, order)
    before = values_of(rows)
    return Rewritten((file,), value_sum=before + has_flaw, input_sum=before)


def _rewrite(room: Room, order: RewriteOrder) -> tuple[list[tuple[int, int]], ManifestFile]:
    rows: list[tuple[int, int]] = []
    for final in order.inputs:
        raw = room.store.read(final)
        if raw is None:
            raise EntryRefused("compaction", f"{final} is gone")
        rows += [(int(p), int(o)) for p, o in json.loads(raw)]
    name = f"0_c{len(order.inputs)}_{order.window}.rows"
    spot = StagingSpot(order.staging, order.window, room.around.nonce()[:8])
    writer = room.store.open_staged(f"{FEED}/{order.dataset}/day=2026-11-15/{name}", spot)
    writer.write(json.dumps([list(row) for row in sorted(rows)]).encode())
    seen = Evidence.total(Evidence.of_positions(TOPIC, p % LIFE, [o]) for p, o in rows)
    return rows, ManifestFile(order.dataset, writer.finish(), seen, ())


def _decode(room: Room, order: ReplayOrder, dataset: str, records: RecordSet) -> ManifestFile:
    offsets = list(records.offsets)
    covered = OffsetRange(TOPIC, records.topic_id, records.partition, offsets[0], offsets[-1] + 1)
    stage = StageOrder(FEED, order.window, order.staging, (covered,))
    return write_file(room.store, room.around, stage, dataset, covered, offsets)
