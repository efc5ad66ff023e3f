"""Mutation check: switch off one protective rule at a time; the simulator must notice each.

A rule whose absence nobody notices is either not needed or not tested. The table this prints is
the proof that the simulator can see what the protocol protects against.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import msgspec

from penstock.api.store import Store
from penstock.care import clean as clean_room
from penstock.care import unnamed_objects
from penstock.errors import OutcomeUnknown, PenstockError
from penstock.model.entries import SealedEntry, Start
from penstock.model.layout import Layout
from penstock.model.outcome import FinalState
from penstock.model.staged import StagedHandle
from penstock.model.steps import Step
from penstock.model.window import Available
from penstock.ports.store import create_once as create_once_room
from penstock.ports.store.create_once import Sleep
from penstock.protocol.feed_book import rules
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.state import FeedState, PartitionState
from penstock.protocol.journal import checkpoints, every_book, wire
from penstock.protocol.journal import journal as journal_room
from penstock.protocol.journal import witnesses as witness
from penstock.protocol.journal.checkpoints import FoundCheckpoint
from penstock.protocol.journal.entry_reader import EntryReader
from penstock.protocol.journal.wire import unseal
from penstock.protocol.loop import owner as owner_room
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.tidying import OwnWindows, TidyOrder, tidy
from penstock.protocol.loop.window_plan import new_starts
from penstock.protocol.publish import acts
from penstock.protocol.publish.acts import DeleteInputsAct, PublishFilesAct
from penstock.protocol.publish.group_work import Act, GroupWork, StepTools
from penstock.testing.memory_store import MemoryStore, Shelf
from tests.simulator.chooser import RandomChooser
from tests.simulator.compaction_schedules import COMPACTION_RULES
from tests.simulator.final_schedules import FINAL_RULES
from tests.simulator.lane_mutations import LANE_RULES
from tests.simulator.outside_faults import faults_of
from tests.simulator.random_runs import fates_of, run_choices
from tests.simulator.schedules import SCHEDULES

Switch = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Mutation:
    """A protective rule, and how to switch it off."""

    rule: str
    switch_off: Switch


@dataclass(frozen=True)
class Catch:
    """What noticed that a rule was off; `by` is empty when nothing did."""

    rule: str
    by: str
    why: str
    schedules: int


def catch(mutation: Mutation, random_schedules: int = 3_000) -> Catch:
    """Run the directed schedules, then random ones, until something breaks."""
    tried = 0
    with mutation.switch_off():
        for schedule in SCHEDULES:
            tried += 1
            try:
                schedule()
            except (AssertionError, PenstockError) as error:
                return Catch(mutation.rule, schedule.__name__, str(error), tried)
        for seed in range(random_schedules):
            tried += 1
            failure = run_choices(RandomChooser(seed), fates_of(seed), faults_of(seed))
            if failure is not None:
                return Catch(mutation.rule, f"random seed {seed}", failure.error, tried)
    return Catch(mutation.rule, "", "nothing noticed", tried)


def fails_with_every_rule() -> str:
    """The schedule that fails with all rules in force, if any: then no catch means anything."""
    return catch(Mutation("none", nullcontext), random_schedules=200).by


def catch_by_random(mutation: Mutation, random_schedules: int) -> Catch:
    """Only random schedules: how good is the fuzzer without directions?"""
    with mutation.switch_off():
        for seed in range(random_schedules):
            failure = run_choices(RandomChooser(seed), fates_of(seed), faults_of(seed))
            if failure is not None:
                return Catch(mutation.rule, f"random seed {seed}", failure.error, seed + 1)
    return Catch(mutation.rule, "", "nothing noticed", random_schedules)


def _patch(owner: object, name: str, new: object) -> Switch:
    return lambda: patch.object(owner, name, new)


def _nothing(*_args: object, **_kwargs: object) -> None:
    return None


@contextmanager
def _no_epoch_check() -> Iterator[None]:
    with (
        patch.object(FeedJournal, "_check_fenced", _nothing),
        patch.object(every_book, "epoch_objection", _nothing),
        patch.object(rules, "stale_objection", _nothing),
    ):
        yield


@contextmanager
def _clobber() -> Iterator[None]:
    with patch.object(Shelf, "empty", lambda: Shelf({}, {}, clobber=True)):
        yield


@contextmanager
def _trim_journal() -> Iterator[None]:
    """After a checkpoint, delete the entries that it makes unnecessary."""

    def trimming(store: Store, layout: Layout, order: TidyOrder, sleep: Sleep) -> None:
        tidy(store, layout, order, sleep)
        for number in range(order.checkpoint.number - 1):
            store.delete(layout.entry(number))

    with patch.object(owner_room, "tidy", trimming):
        yield


@contextmanager
def _settled_otherwise(settle: Callable[[Owner], OwnWindows]) -> Iterator[None]:
    def assign(owner: Owner) -> None:
        owner.own_windows = settle(owner)

    with patch.object(Owner, "_settle_windows", assign):
        yield


def _undone(owner: Owner) -> frozenset[str]:
    return frozenset(each.window for each in owner.fold.state.undone.values())


def _undone_is_settled() -> AbstractContextManager[None]:
    """A window that is decided and not done counts as one that needs nothing any more."""
    return _settled_otherwise(lambda owner: OwnWindows(owner.epoch, owner._sequence))


def _one_too_many() -> AbstractContextManager[None]:
    """The window that is planned after an order counts as settled by it."""
    return _settled_otherwise(
        lambda owner: OwnWindows(owner.epoch, owner._sequence + 1, _undone(owner))
    )


def _doubt_is_settled() -> AbstractContextManager[None]:
    """A window without an answer to its decision counts as one that was not decided."""
    return _settled_otherwise(
        lambda owner: OwnWindows(owner.epoch, owner._sequence, _undone(owner))
    )


def _exists_is_ours(store: MemoryStore, handle: Any) -> FinalState:
    return FinalState.ABSENT if store.head(handle.final) is None else FinalState.OURS


def _visible_is_done(act: PublishFilesAct, handle: StagedHandle) -> bool:
    return act._store.look(handle).final is FinalState.OURS


@contextmanager
def _publish_is_taken_as_done() -> Iterator[None]:
    """The files of a group count as published although nothing was done."""
    with (
        patch.object(PublishFilesAct, "is_done", lambda *_: True),
        patch.object(PublishFilesAct, "do_many", lambda _, works: {w.dataset for w in works}),
    ):
        yield


def _delete_whatever_the_step(_step: Step, tools: StepTools) -> Act:
    return DeleteInputsAct(tools)


@contextmanager
def _volatile_start() -> Iterator[None]:
    """Resolve first offsets in memory, and write them down only with the first decision."""
    decide = Owner.decide

    def hold(owner: Owner, available: Available) -> None:
        state = owner.fold.state
        starts = new_starts(state.topics, state.watermarks(), available, owner._rules.first_offset)
        owner.__dict__["pending"] = starts
        for start in starts:
            state.topics[start.topic] = start.topic_id
            known = state.partitions.setdefault(start.topic_id, {})
            known[start.partition] = PartitionState(start.topic, start.offset, start.offset)

    def late(owner: Owner, *args: Any) -> SealedEntry | None:
        starts = owner.__dict__.pop("pending", ())
        for start in starts:
            del owner.fold.state.partitions[start.topic_id][start.partition]
        if starts:
            owner._journal.append(owner.fold, Start(starts), owner.epoch)
        return decide(owner, *args)

    with patch.object(Owner, "_hold_starts", hold), patch.object(Owner, "decide", late):
        yield


@contextmanager
def _no_tail_check() -> Iterator[None]:
    with (
        patch.object(witness, "check_not_beyond", _nothing),
        patch.object(witness, "check_tail_mark", _nothing),
    ):
        yield


@contextmanager
def _discard_on_unknown() -> Iterator[None]:
    """Treat `no answer` as `not landed`, and tidy up."""
    append = FeedJournal.append

    def hasty(journal: FeedJournal, *args: Any, **kwargs: Any) -> SealedEntry:
        try:
            return append(journal, *args, **kwargs)
        except OutcomeUnknown:
            for ref in journal.store.list_staged(journal.layout.staging, ()):
                journal.store.discard(ref)
            raise

    with patch.object(FeedJournal, "append", hasty):
        yield


def _with_defaults(_book: object, key: str, raw: bytes) -> FoundCheckpoint[FeedState]:
    """Take any checkpoint for one of the present fold; what it lacks gets a default."""
    plain = msgspec.json.decode(unseal(key, raw)[0])
    for partitions in plain["state"]["partitions"].values():
        for known in partitions.values():
            known.setdefault("first_offset", 0)
    state = msgspec.convert(plain["state"], FeedState, str_keys=True)
    return FoundCheckpoint(state.number, state.sha256, {}, state)


@contextmanager
def _owners_forget_what_is_stopped() -> Iterator[None]:
    """A new owner tries a stopped dataset again, as one that only failed."""
    plain = Owner._let_go_what_may_go

    def eager(self: Owner) -> None:
        self.fold.state.stopped.clear()
        plain(self)

    with patch.object(Owner, "_let_go_what_may_go", eager):
        yield


MUTATIONS: tuple[Mutation, ...] = (
    Mutation("chain check", _patch(journal_room, "check_chain", _nothing)),
    Mutation("nonce read-back", _patch(create_once_room, "is_mine", lambda _found, _mine: False)),
    Mutation("epoch check on append", _no_epoch_check),
    Mutation("no-clobber publish", _clobber),
    Mutation("never delete journal keys", _trim_journal),
    Mutation("identity in is_done", _patch(MemoryStore, "_final_state", _exists_is_ours)),
    Mutation(
        "staged source proven consumed", _patch(PublishFilesAct, "_is_published", _visible_is_done)
    ),
    Mutation("a step is done before it counts as done", _publish_is_taken_as_done),
    Mutation("each step has its own act", _patch(acts, "act_of", _delete_whatever_the_step)),
    Mutation(
        "steps run in the order that was decided",
        _patch(GroupWork, "steps", property(lambda work: work.group.steps[::-1])),
    ),
    Mutation("durable start", _volatile_start),
    Mutation("inputs must be live", _patch(Inventory, "objection", _nothing)),
    Mutation(
        "cleaner spares the newest epoch",
        _patch(clean_room, "is_of_dead_epoch", lambda _state, _ref: True),
    ),
    Mutation("tail-cut detection", _no_tail_check),
    Mutation(
        "cleaner spares what is referenced",
        _patch(clean_room, "is_referenced", lambda _state, _ref: False),
    ),
    Mutation(
        "cleaner spares what an entry names", _patch(unnamed_objects, "named_by", lambda _body: ())
    ),
    Mutation("tidying spares what is not done", _undone_is_settled),
    Mutation("tidying spares the window that is planned next", _one_too_many),
    Mutation("what is in doubt is not settled", _doubt_is_settled),
    Mutation("pruning spares the newest", _patch(checkpoints, "old_ones", lambda keys, _: keys)),
    Mutation("a window starts at the watermark", _patch(rules, "window_objection", _nothing)),
    Mutation(
        "a rebind takes the place of the life that was seen",
        _patch(rules, "rebind_objection", _nothing),
    ),
    Mutation("nothing is deleted on unknown", _discard_on_unknown),
    Mutation("a hole is not the tail", _patch(EntryReader, "_first_after", _nothing)),
    Mutation("data without a journal is no start", _patch(witness, "check_first_start", _nothing)),
    Mutation("a newer format is not read as a known one", _patch(wire, "check_format", _nothing)),
    Mutation(
        "an older checkpoint is not filled with defaults",
        _patch(checkpoints, "read_checkpoint", _with_defaults),
    ),
    Mutation("misfits stop their dataset", _patch(owner_room, "stops_of", lambda *_: {})),
    Mutation("only a person lets a stopped dataset go on", _owners_forget_what_is_stopped),
    *(Mutation(rule, switch_off) for rule, switch_off in LANE_RULES.items()),
    *(Mutation(rule, switch_off) for rule, switch_off in FINAL_RULES.items()),
    *(Mutation(rule, switch_off) for rule, switch_off in COMPACTION_RULES.items()),
)


def table(catches: list[Catch]) -> str:
    """The catches as text."""
    width = max(len(each.rule) for each in catches)
    by = max(len(each.by) for each in catches)
    return "\n".join(
        f"{each.rule:<{width}}  {each.by or 'NOT CAUGHT':<{by}}  {each.why[:60]}"
        for each in catches
    )
