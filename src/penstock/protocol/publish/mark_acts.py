"""Marks beside the data: `_SUCCESS` where a day or an hour is complete, `_LATE` for later rows.

Marks are for readers of directories; nothing in here or elsewhere decides by them. They are created
and never changed. A mark is ours by the entry that it names.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from penstock.api.store import Store
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.entries import Deciding
from penstock.model.final_days import Frontier
from penstock.model.steps import MarkLate
from penstock.model.value import Value
from penstock.ports.store.create_once import create_once
from penstock.protocol.publish.group_work import GroupWork, PartKey
from penstock.runtime.surroundings import Acts

COMPLETE, LATE = "_SUCCESS", "_LATE"


class _Named(msgspec.Struct):
    """What tells whose mark it is; versions to come may add to the rest."""

    entry: int
    hash: str


_decoder = msgspec.json.Decoder(_Named)


class Mark(Value, frozen=True):
    """What stands in a mark: the entry that it is of, when that was decided, and late rows."""

    feed: str
    entry: int
    hash: str
    window: str
    at: str
    rows: int | None = None

    @property
    def content(self) -> bytes:
        """As it lies in the lake: JSON on one line, for people and scripts."""
        plain = msgspec.to_builtins(self)
        return msgspec.json.encode({k: v for k, v in plain.items() if v is not None}) + b"\n"

    def is_in(self, found: bytes | None) -> bool:
        """True when an object is a mark of the same entry."""
        if found is None:
            return False
        try:
            other = _decoder.decode(found)
        except msgspec.MsgspecError:
            return False
        return (other.entry, other.hash) == (self.entry, self.hash)


def mark_of(work: GroupWork, rows: int | None = None) -> Mark:
    """The mark of an entry's part."""
    entry = work.sealed.entry
    body = entry.body
    window = body.window if isinstance(body, Deciding) else ""
    return Mark(entry.feed, entry.number, work.sealed.sha256, window, entry.at, rows)


class MarkCompleteAct:
    """Leaves `_SUCCESS` in directories, one after the other: a death leaves no hole.

    Where such an object lies already, whoever left it, it stays: readers take the directory as
    complete, and we know that it is.
    """

    def __init__(self, store: Store, do_all: Callable[[Acts], None]) -> None:
        self._store = store
        self._do_all = do_all

    def is_done(self, work: GroupWork) -> bool:
        """All of them are there; the last one is created last."""
        keys = [f"{directory}/{COMPLETE}" for directory in work.complete]
        return all(self._store.head(key) is not None for key in reversed(keys))

    def do(self, work: GroupWork) -> None:
        """Create each, in order."""
        content = mark_of(work).content
        for directory in work.complete:
            create_once(self._store, f"{directory}/{COMPLETE}", content)

    def do_many(self, works: Sequence[GroupWork]) -> set[PartKey]:
        """Datasets side by side, each in order."""
        return each_by_itself(self.do, works, self._do_all)


class MarkLateAct:
    """Leaves `_LATE` in the directories of files whose day or hour was final when it was decided.

    `_LATE` is of the first entry that came late; each further one leaves `_LATE-<window>`.
    """

    def __init__(self, store: Store, do_all: Callable[[Acts], None], step: MarkLate) -> None:
        self._store = store
        self._do_all = do_all
        self._frontier = Frontier(step.days_before, step.hours_before)

    def is_done(self, work: GroupWork) -> bool:
        """Every directory has a mark of this entry."""
        return all(
            any(mark.is_in(self._store.read(key)) for key in _late_keys(directory, mark))
            for directory, mark in self._marks(work).items()
        )

    def do(self, work: GroupWork) -> None:
        """Create each that is not there."""
        for directory, mark in self._marks(work).items():
            for key in _late_keys(directory, mark):
                other = create_once(self._store, key, mark.content)
                if other is None or mark.is_in(other):
                    break

    def do_many(self, works: Sequence[GroupWork]) -> set[PartKey]:
        """Datasets side by side."""
        return each_by_itself(self.do, works, self._do_all)

    def _marks(self, work: GroupWork) -> dict[str, Mark]:
        rows: Counter[str] = Counter()
        for handle, count in zip(work.handles, work.rows, strict=True):
            for directory in self._frontier.final_directories(handle.final):
                rows[directory] += count
        return {directory: mark_of(work, count) for directory, count in sorted(rows.items())}


def _late_keys(directory: str, mark: Mark) -> tuple[str, str]:
    return f"{directory}/{LATE}", f"{directory}/{LATE}-{mark.window}"


def each_by_itself(
    do: Callable[[GroupWork], None],
    works: Sequence[GroupWork],
    do_all: Callable[[Acts], None],
) -> set[PartKey]:
    """Do it for each, where one that fails does not stop the others; those that are done."""
    done: set[PartKey] = set()

    def attempt(work: GroupWork) -> None:
        try:
            do(work)
        except (StoreUnavailable, OutcomeUnknown):
            return
        done.add(work.key)

    do_all([partial(attempt, work) for work in works])
    return done
