"""Runs the tally: clerks that add, correctors that take back, and an oracle that reads plain JSON.

The oracle shares no code with the journal. It checks
    T1  numbers, chain and hashes continue;
    T2  every entry carries the epoch of the last claim, so no fenced clerk has added anything;
    T3  no token is added twice, and nothing is taken back twice;
    T4  the total never exceeds the limit, and what was refused or fenced is not there;
    T5  what was acknowledged is there, and nothing that nobody tried;
    T6  at the end, each way to fold gives the total of the entries, and every `add` is posted.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import EntryRefused, Fenced
from penstock.model.layout import Layout
from penstock.protocol.journal.checkpoints import write_checkpoint
from penstock.protocol.journal.journal import Fold, Journal
from penstock.protocol.journal.markers import mark_done
from penstock.protocol.publish.groups import leave_tail_mark
from penstock.testing.memory_store import Act, MemoryStore, Shelf
from tests.simulator.chooser import Chooser, RandomChooser
from tests.simulator.faulty_run import FaultyRun
from tests.simulator.kafka import SimKafka
from tests.simulator.programs import Program, Room, surroundings
from tests.simulator.scheduler import Scheduler
from tests.simulator.story import Violation
from tests.simulator.tally_book import (
    POST,
    TALLY_BOOK,
    Add,
    Counted,
    Open,
    TakeBack,
    TallyBody,
    TallyState,
)

LIMIT = 30
LAYOUT = Layout("tally")
JOURNAL = "_penstock/tally/journal/0/"

TallyJournal = Journal[TallyState, TallyBody, Counted]
TallyFold = Fold[TallyState, Counted]


@dataclass
class Told:
    """What the clerks were told about their tokens: landed, not landed, or nothing."""

    tried: set[str] = field(default_factory=set)
    landed: set[str] = field(default_factory=set)
    not_landed: set[str] = field(default_factory=set)


def journal_in(room: Room) -> TallyJournal:
    """A client of the tally's journal."""
    return Journal(TALLY_BOOK, room.store, LAYOUT, "lake-1", room.around)


def clerk(told: Told, adds: int = 4) -> Program:
    """An owner: claims, posts what is not posted, adds amounts. The third is above the limit."""

    def run(room: Room) -> str:
        journal = journal_in(room)
        fold = journal.open()
        journal.begin(fold, Open(LIMIT))
        epoch = journal.claim(fold, room.name)
        leave_tail_mark(journal, fold.state.number, fold.state.sha256)
        post_all(journal, fold)
        for turn in range(adds):
            amount = LIMIT + 1 if turn == 2 else turn + 1
            _add(journal, fold, Add(f"{room.name}.{turn}", amount), epoch, told)
            post_all(journal, fold)
            if fold.state.number - fold.checkpoint >= 3:
                write_checkpoint(journal, fold.state)
                fold.checkpoint = fold.state.number
        return f"total {fold.state.total}"

    return run


def _add(journal: TallyJournal, fold: TallyFold, add: Add, epoch: int, told: Told) -> None:
    told.tried.add(add.token)
    try:
        sealed = journal.append(fold, add, epoch)
    except EntryRefused:
        told.not_landed.add(add.token)
        return
    except Fenced:
        told.not_landed.add(add.token)
        raise
    told.landed.add(add.token)
    leave_tail_mark(journal, sealed.number, sealed.sha256)


def post_all(journal: TallyJournal, fold: TallyFold) -> None:
    """Mark every `add` as done that is not yet; that is all the publishing there is."""
    for undone in fold.state.undone.values():
        mark_done(journal.store, journal.layout, undone, (POST,))
    journal.see_done(fold.state)


def corrector() -> Program:
    """A command beside the owner: takes back the first amount that counts."""

    def run(room: Room) -> str:
        journal = journal_in(room)
        fold = journal.open(deep=True)
        if not fold.inventory:
            return "nothing counts"
        number, amount = min(fold.inventory.items())
        sealed = journal.append(fold, TakeBack(number, amount), fold.state.epoch)
        leave_tail_mark(journal, sealed.number, sealed.sha256)
        return "decided"

    return run


@dataclass(frozen=True)
class TallyStory:
    """What the raw entries say."""

    number: int
    sha256: str
    epoch: int
    added: dict[str, int]  # the number of the entry, by token
    counted: dict[int, int]

    @property
    def total(self) -> int:
        """The sum of all that counts."""
        return sum(self.counted.values())


def story_of(shelf: Shelf) -> TallyStory:
    """Read all entries as plain JSON; raises `Violation` for T1 to T4."""
    story = TallyStory(-1, "0" * 64, 0, {}, {})
    keys = sorted(key for key in shelf.objects if key.startswith(JOURNAL))
    for number, key in enumerate(keys):
        raw = shelf.objects[key]
        digest = hashlib.sha256(raw[raw.index(b'",') + 1 :]).hexdigest()
        entry = json.loads(raw)
        found = (entry["number"], entry["previous"], entry["hash"], key)
        if found != (number, story.sha256, digest, f"{JOURNAL}{number:020}.json"):
            raise Violation("T1", f"{key} does not continue the journal")
        wanted = story.epoch + (entry["body"]["kind"] == "claim")
        if entry["epoch"] != wanted:
            raise Violation("T2", f"{key} has epoch {entry['epoch']}, not {wanted}")
        story = _told(story, entry, digest)
    return story


def _told(story: TallyStory, entry: dict[str, Any], digest: str) -> TallyStory:
    number, body = entry["number"], entry["body"]
    added, counted = dict(story.added), dict(story.counted)
    if body["kind"] == "add":
        if body["token"] in added:
            raise Violation("T3", f"{body['token']} is added by {added[body['token']]}, {number}")
        added[body["token"]], counted[number] = number, body["amount"]
    if body["kind"] == "take_back" and counted.pop(body["number"], None) != body["amount"]:
        raise Violation("T3", f"entry {number} takes back what does not count: {body}")
    if sum(counted.values()) > LIMIT:
        raise Violation("T4", f"entry {number} takes the total to {sum(counted.values())}")
    return TallyStory(number, digest, entry["epoch"], added, counted)


@dataclass
class TallyWorld(Scheduler):
    """Clerks and correctors on one shelf, judged after every entry."""

    kafka: SimKafka = field(default_factory=lambda: SimKafka({}))
    told: Told = field(default_factory=Told)

    def check_step(self, before: Shelf, act: Act, after: Shelf) -> None:
        """Entries are never removed; a new one must be right."""
        if before is after or not act.key.startswith(JOURNAL):
            return
        if act.name == "delete":
            raise Violation("T1", f"{act.key} was deleted")
        self.check_told(story_of(after))

    def check_told(self, story: TallyStory) -> None:
        """T4 and T5: the journal holds what its clerks were told."""
        there = set(story.added)
        if there & self.told.not_landed:
            raise Violation("T4", f"refused and there: {sorted(there & self.told.not_landed)}")
        if not self.told.landed <= there <= self.told.tried:
            raise Violation("T5", f"there: {sorted(there)}, told: {sorted(self.told.landed)}")

    def settle(self) -> None:
        """Faults are over: a last clerk posts what is left, and the folds must agree."""
        self.end_faults()
        self.run_alone("last", clerk(self.told, adds=1))
        story = story_of(self.shelf)
        self.check_told(story)
        store = MemoryStore()
        store.shelf = self.shelf
        journal = journal_in(Room("reader", store, surroundings("reader"), self.kafka))
        for deep in (False, True):
            fold = journal.open(deep=deep)
            state, wanted = fold.state, (story.number, story.sha256, story.epoch, story.total)
            if (state.number, state.sha256, state.epoch, state.total) != wanted:
                raise Violation("T6", f"a fold gives {state}, the entries {wanted}")
            if state.undone:
                raise Violation("T6", f"not posted: {sorted(state.undone)}")
            if deep and fold.inventory != story.counted:
                raise Violation("T6", f"counted {fold.inventory}, not {story.counted}")


def run_tally(chooser: Chooser) -> TallyWorld:
    """One random world; raises `Violation`."""
    world = TallyWorld()
    run = FaultyRun(chooser, world, lambda: clerk(world.told))
    run.commands += [("corrector", corrector())] * chooser.index(4)
    run.run()
    return world


def first_violation(seeds: int, first: int = 0) -> str:
    """What breaks first in so many random worlds; nothing when all is well."""
    for seed in range(first, first + seeds):
        try:
            run_tally(RandomChooser(seed))
        except Violation as error:
            return f"seed {seed}: {error}"
    return ""
