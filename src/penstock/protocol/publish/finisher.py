"""Finishing decided entries: publish their files, delete what they replace, park what fails.

What is done is judged by part: a lane of the group of one dataset in one entry. The parts of the
same dataset and lane are marked done in journal order; parts of others never wait for them.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from penstock.errors import (
    DecidedDataLost,
    EntryRefused,
    Fenced,
    ForeignFile,
    OutcomeUnknown,
    PenstockError,
    StagedGone,
    StoreUnavailable,
)
from penstock.model.entries import Park, SealedEntry, Unpark
from penstock.model.lanes import DELETE, dataset_of, lane_in
from penstock.model.manifest import Content
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.state import Owed, Undone
from penstock.protocol.journal.markers import Marker, first_marker, mark_done, still_undone
from penstock.protocol.publish.acts import publish_at_once, publish_group
from penstock.protocol.publish.derive_again import Deriver, window_of
from penstock.protocol.publish.earlier_attempts import take_back
from penstock.protocol.publish.group_work import GroupWork, PartKey, StepTools, from_here
from penstock.protocol.publish.groups import (
    append_marked,
    leave_tail_mark,
    load_content,
    works_of,
)
from penstock.protocol.publish.ownership import Ownership
from penstock.runtime.surroundings import Surroundings

LOSSES = 3  # how often the staged files of one group may vanish under our hands
COMMAND_TRIES = 5  # how often a command tries by itself what keeps failing; owners come back later
AT_ONCE = 100  # entries whose files are published together: recovery may find thousands

FAILURES = (ForeignFile, StoreUnavailable, OutcomeUnknown)


@dataclass
class _Round:
    """What came of the parts that were tried together."""

    done: set[PartKey] = field(default_factory=set)
    failed: dict[PartKey, PenstockError] = field(default_factory=dict)

    def is_of_the_store(self, own: Container[str]) -> bool:
        """True when nothing worked for several datasets: that is not trouble of one of them.

        Parts that are known to have trouble of their own tell nothing about the store.
        """
        if self.done or any(isinstance(each, ForeignFile) for each in self.failed.values()):
            return False
        return len({dataset_of(part) for _, part in self.failed if part not in own}) > 1


class Finisher:
    """Does the steps of undone entries. Repeating any of it is harmless, by whomever.

    Without an `ownership` it works for a command: that can neither park a dataset nor derive lost
    files again, and leaves both to the owner.
    """

    def __init__(
        self,
        journal: FeedJournal,
        fold: FeedFold,
        around: Surroundings,
        epoch: int,
        ownership: Ownership | None = None,
    ) -> None:
        self._journal = journal
        self._fold = fold
        self._around = around
        self._epoch = epoch
        self._mine = ownership
        publish_all = ownership.publish_all if ownership is not None else from_here
        self._tools = StepTools(journal.store, around.do_all, publish_all)
        self._began = around.tick()  # a rest that ends meanwhile must not let later entries pass

    def finish_all(self) -> None:
        """Publish what is decided and not done, of all entries; then delete what is owed."""
        self._follow_operators()
        self._try_parked()
        numbers = iter(sorted(self._fold.state.undone))
        blocked: set[str] = set()  # an older entry waits for the same dataset and lane
        while some := list(islice(numbers, AT_ONCE)):
            self._finish(list(self._open_works(some)), blocked)
        self._delete_owed()

    def finish_fresh(self, sealed: SealedEntry, content: Content) -> None:
        """Finish an entry that was decided a moment ago, by us; older ones go first, if any."""
        self._follow_operators()
        mine = self._to_do(sealed.number)
        older = {part for number in self._older_than(sealed.number) for part in self._to_do(number)}
        if older & mine:
            self.finish_all()
            return
        leave_tail_mark(self._journal, sealed.number, sealed.sha256)
        self._finish_marked(works_of(sealed, content, mine), set())
        self._delete_owed()

    def _older_than(self, number: int) -> list[int]:
        """Undone entries that came before: parked, or in trouble."""
        return [older for older in self._fold.state.undone if older < number]

    def _to_do(self, number: int) -> set[str]:
        """The parts of an entry that are neither parked nor resting after they failed."""
        return {p for p in self._fold.state.open_parts(number) if not self._is_resting(p)}

    def _is_resting(self, part: str) -> bool:
        return self._mine is not None and self._mine.troubles.is_resting(part, self._began)

    def _open_works(self, numbers: Iterable[int]) -> Iterator[GroupWork]:
        """The open parts of these entries, which are read side by side."""
        asked = [number for number in numbers if self._to_do(number)]
        for number, (sealed, content) in self._journal.ask_all(self._load, asked):
            yield from works_of(sealed, content, self._to_do(number))

    def _load(self, number: int) -> tuple[SealedEntry, Content]:
        sealed = self._journal.require(number, self._fold.state.undone[number].sha256)
        return sealed, load_content(self._journal, self._fold, sealed)

    def _finish(self, works: list[GroupWork], blocked: set[str]) -> None:
        """Publish the files of several entries; the newest gets a tail mark before."""
        if works:
            newest = works[-1].sealed
            leave_tail_mark(self._journal, newest.number, newest.sha256)
            self._finish_marked(works, blocked)

    def _finish_marked(self, works: list[GroupWork], blocked: set[str]) -> None:
        """Do all parts together, then what is left one by one; mark them in journal order."""
        found = self._try(works)
        if self._mine is not None and found.is_of_the_store(self._mine.troubles.own):
            raise _passing(next(iter(found.failed.values())))
        self._mark_in_order(works, found.done, blocked)
        self._note_failures(found)

    def _try(self, works: list[GroupWork], *, alone: bool = True) -> _Round:
        """Do all parts together; then, if `alone`, what is left each by itself."""
        found = _Round(publish_at_once(self._tools, works))
        left = [work for work in works if work.key not in found.done] if alone else []
        if self._mine is not None and len(left) > 1:
            left = self._try_each(left, found)
        for work in left:
            self._finish_alone(work, found)
        self._count_tries(works, found)
        return found

    def _count_tries(self, works: list[GroupWork], found: _Round) -> None:
        """Count what an owner has tried, for metrics."""
        if self._mine is not None:
            for work in works:
                has_failed = work.key in found.failed
                self._mine.troubles.counters.publish_tried(work.dataset, has_failed=has_failed)

    def _try_each(self, works: list[GroupWork], found: _Round) -> list[GroupWork]:
        """Try each part by itself, all at the same time: those that hang must not add up.

        Returns those whose files are lost, or perhaps of an earlier attempt; they need the journal,
        and so come one after the other.
        """
        answers: dict[PartKey, PenstockError | None] = {}

        def attempt(work: GroupWork) -> None:
            try:
                publish_group(self._tools, work)
            except (StagedGone, *FAILURES) as error:
                answers[work.key] = error
            else:
                answers[work.key] = None

        self._around.do_all([partial(attempt, work) for work in works])
        found.done |= {key for key, error in answers.items() if error is None}
        left = []
        for work in works:  # in journal order: the oldest failure of a part is the one that counts
            error = answers[work.key]
            is_replaced = bool(self._replaced_by(work.sealed.number))
            if isinstance(error, StagedGone) or (isinstance(error, ForeignFile) and is_replaced):
                left.append(work)
            elif error is not None:
                found.failed[work.key] = error
        return left

    def _mark_in_order(self, works: list[GroupWork], done: set[PartKey], blocked: set[str]) -> None:
        """Leave the markers, of a part only if the same part of all older entries has one."""
        proven: dict[int, list[str]] = {}
        for work in works:
            if work.part in blocked:
                continue
            if work.key in done:
                proven.setdefault(work.sealed.number, []).append(work.part)
            elif work.part in self._fold.state.open_parts(work.sealed.number):
                blocked.add(work.part)
        firsts = self._first_markers(list(proven)) if len(proven) > 1 else {}
        for number, parts in proven.items():
            self._mark(self._fold.state.undone, number, parts, firsts.get(number))

    def _first_markers(self, numbers: list[int]) -> dict[int, Marker | None]:
        """The markers that some undone entries have, read side by side: each spares two requests.

        A dataset that was parked for long comes with hundreds of entries whose others are done.
        """
        journal, undone = self._journal, self._fold.state.undone
        asked = [undone[number] for number in numbers if number in undone]
        answers = journal.ask_all(partial(first_marker, journal.segments, journal.layout), asked)
        return {each.number: first for each, first in answers}

    def _mark(
        self,
        entries: dict[int, Undone] | dict[int, Owed],
        number: int,
        proven: list[str],
        first: Marker | None = None,
    ) -> None:
        """Leave the marker of an entry. Its other parts get markers of their own later."""
        entry = entries.get(number)
        if entry is None or not proven:
            return
        journal = self._journal
        mark_done(journal.store, journal.layout, entry, tuple(proven), journal.sleep, first)
        entry.parts = [part for part in entry.parts if part not in proven]
        if not entry.parts:
            del entries[number]
        if self._mine is not None:
            for part in proven:
                self._mine.troubles.over(part)

    def _finish_alone(self, work: GroupWork, found: _Round) -> None:
        """Do one part. A command waits for what fails, and gives up; an owner comes back later."""
        tries = 1 if self._mine is not None else COMMAND_TRIES
        for attempt in range(tries):
            try:
                if self._publish(work):
                    found.done.add(work.key)
            except FAILURES as error:
                if self._mine is not None:
                    found.failed[work.key] = error
                elif attempt + 1 == tries:
                    raise
                else:
                    self._around.sleep(min(2.0**attempt, 30.0))
                    work = self._current(work)
            else:
                return

    def _publish(self, work: GroupWork) -> bool:
        """Do the steps, deriving again what was lost; False: another did it, or it is put aside."""
        for _ in range(LOSSES):
            if self._replaced_by(work.sealed.number):
                work = self._current(work)
            try:
                publish_group(self._tools, work)
            except StagedGone as gone:
                if not self._look_again(work, gone):
                    return False
            except ForeignFile:
                if not self._take_back(work):
                    raise
            else:
                return True
        why = "its files vanish as fast as they are derived"
        raise DecidedDataLost(window_of(work.sealed), why)

    def _take_back(self, work: GroupWork) -> bool:
        """True when files of an earlier attempt are there, and were decided for."""
        if self._mine is None or not self._replaced_by(work.sealed.number):
            return False
        return take_back(self._journal, self._fold, self._epoch, work.sealed, work.dataset)

    def _current(self, work: GroupWork) -> GroupWork:
        """The same part with the files that it has now: lost ones may have been replaced."""
        content = load_content(self._journal, self._fold, work.sealed)
        (current,) = works_of(work.sealed, content, {work.part})
        return current

    def _look_again(self, work: GroupWork, gone: StagedGone) -> bool:
        """Neither staged nor final: done meanwhile (False), replaced meanwhile, or really lost."""
        journal, fold, number = self._journal, self._fold, work.sealed.number
        known = list(self._replaced_by(number))
        journal.fold_on(fold)
        journal.see_done(fold.state)
        if work.part not in fold.state.open_parts(number):
            return False
        if fold.state.epoch > self._epoch:
            raise Fenced(journal.layout.feed, self._epoch, fold.state.epoch, fold.state.owner)
        if list(self._replaced_by(number)) != known:
            return True
        if self._mine is None:
            raise DecidedDataLost(window_of(work.sealed), str(gone.found))
        if self._mine.stage is None:
            return False
        deriver = Deriver(journal, fold, self._epoch, self._mine.stage, self._mine.config)
        deriver.derive(work.sealed, work.dataset, str(gone.found))
        return True

    def _replaced_by(self, number: int) -> list[int]:
        undone = self._fold.state.undone.get(number)
        return undone.replaced_by if undone is not None else []

    # What fails, and what is parked

    def _follow_operators(self) -> None:
        """What an operator has unparked is tried at once; what nobody waits for is no trouble."""
        if self._mine is not None:
            state = self._fold.state
            self._mine.troubles.follow(state.parked, state.waiting_parts())

    def _note_failures(self, found: _Round) -> None:
        """Count what failed, once for each part; park what failed too often."""
        if self._mine is None:
            return
        oldest: dict[str, tuple[int, PenstockError]] = {}
        for (number, part), error in found.failed.items():
            oldest.setdefault(part, (number, error))
        if found.done:
            self._mine.troubles.own |= oldest.keys()
        for part, (number, error) in oldest.items():
            self._mine.troubles.failed(part, str(error), self._around.tick())
            if self._mine.troubles.is_too_often(part):
                self._park(part, number, error)

    def _park(self, part: str, number: int, error: PenstockError) -> None:
        """Set a part aside, by name and with the reason; the others go on."""
        if part in self._fold.state.parked:
            return
        park = Park(dataset_of(part), number, str(error), lane_in(part))
        append_marked(self._journal, self._fold, park, self._epoch)
        self._follow_operators()

    def _try_parked(self) -> None:
        """Try what is parked from time to time: its oldest entry, and the others if that works."""
        if self._mine is None:
            return
        state = self._fold.state
        for part in sorted(state.parked):
            if dataset_of(part) not in state.stopped and not self._is_resting(part):
                self._try_one_parked(part, self._mine)

    def _try_one_parked(self, part: str, mine: Ownership) -> None:
        waiting = [each.number for each in self._fold.state.waiting() if part in each.parts]
        ready = self._ready(waiting, part)
        if waiting and not ready:
            return  # deletions whose time has not come
        if ready:
            number = min(ready)
            sealed = self._journal.require(number)
            content = load_content(self._journal, self._fold, sealed)
            (work,) = works_of(sealed, content, {part})
            counters = mine.troubles.counters
            try:
                publish_group(self._tools, work)
            except StagedGone:
                pass  # once it is unparked, what was lost is derived again
            except FAILURES as error:
                counters.publish_tried(work.dataset, has_failed=True)
                mine.troubles.failed(part, str(error), self._around.tick())
                return
            else:
                counters.publish_tried(work.dataset, has_failed=False)
        self._unpark(part, mine)

    def _ready(self, numbers: list[int], part: str) -> list[int]:
        """The entries of which this part may be tried: deletions wait for files, and for a time."""
        return [each for each in numbers if lane_in(part) != DELETE or self._may_delete(each, part)]

    def _unpark(self, part: str, mine: Ownership) -> None:
        unpark = Unpark(dataset_of(part), mine.owner, lane=lane_in(part))
        try:
            append_marked(self._journal, self._fold, unpark, self._epoch)
        except EntryRefused:
            if part in self._fold.state.parked:  # else a person was faster
                raise
        mine.troubles.over(part)

    # Deletions

    def _delete_owed(self) -> None:
        """Delete what entries have replaced or retired, as far as it is due and may go."""
        state = self._fold.state
        for number in sorted(state.owed):
            owed = state.owed[number]
            awake = [p for p in owed.parts if p not in state.parked and not self._is_resting(p)]
            if due := [part for part in awake if self._may_delete(number, part)]:
                self._try_to_delete(owed, due)

    def _try_to_delete(self, owed: Owed, due: list[str]) -> None:
        """Delete, and note what the store did not do or say: what was delivered has not failed."""
        try:
            self._delete(owed, due)
        except (StoreUnavailable, OutcomeUnknown) as error:
            if self._mine is None:
                why = f"files that entry {owed.number} replaces are deleted by the owner: {error}"
                self._journal.notices.append(why)
            self._note_failures(_Round(failed={(owed.number, part): error for part in due}))

    def _may_delete(self, number: int, part: str) -> bool:
        """True when all that takes the place of the files is proven to be there, and it is time."""
        state = self._fold.state
        undone = state.undone.get(number)
        if undone is not None and dataset_of(part) in map(dataset_of, undone.parts):
            return False
        return state.owed[number].not_before_s <= self._around.now()

    def _delete(self, owed: Owed, due: list[str]) -> None:
        journal = self._journal
        left = still_undone(journal.segments, journal.layout, owed)
        proven = [part for part in owed.parts if part not in left]  # by somebody else
        sealed = journal.require(owed.number, owed.sha256)
        works = works_of(sealed, journal.content_of(sealed.body), set(due) & set(left))
        found = self._try(works, alone=self._mine is not None)  # what a command leaves stays owed
        proven += [work.part for work in works if work.key in found.done]
        self._mark(self._fold.state.owed, owed.number, proven)
        self._note_failures(found)


def _passing(error: PenstockError) -> PenstockError:
    """Trouble of the whole store passes; what was published, if anything, is seen by looking."""
    if isinstance(error, OutcomeUnknown):
        return StoreUnavailable("publish", error.key, "no answer came")
    return error
