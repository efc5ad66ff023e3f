"""Rules of lanes, consumption and parking, each switched off; the schedules must notice."""

from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

from penstock.model.entries import Consuming, Replace
from penstock.model.lanes import dataset_of
from penstock.model.manifest import Content
from penstock.protocol.feed_book import fold as fold_room
from penstock.protocol.feed_book import rules
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.publish import finisher as finisher_room
from penstock.protocol.publish.derive_again import Deriver
from penstock.protocol.publish.finisher import Finisher
from penstock.protocol.publish.group_work import GroupWork, PartKey

Switch = Callable[[], AbstractContextManager[Any]]


def _patch(owner: object, name: str, new: object) -> Switch:
    return lambda: patch.object(owner, name, new)


def _nothing(*_args: object, **_kwargs: object) -> None:
    return None


@contextmanager
def _deletions_are_proven_too() -> Iterator[None]:
    """Whoever consumes an entry is taken to have seen its deletions."""
    plain = fold_room._prove_consumed

    def all_lanes(state: FeedState, body: Consuming) -> None:
        for dataset, number in fold_room._consumed(state, body):
            if (owed := state.owed.get(number)) is not None:
                owed.parts = [part for part in owed.parts if dataset_of(part) != dataset]
                if not owed.parts:
                    del state.owed[number]
        plain(state, body)

    with patch.object(fold_room, "_prove_consumed", all_lanes):
        yield


def _all_of_them(_finisher: Finisher, numbers: list[int], _part: str) -> list[int]:
    return numbers


class _Forgetful(set[str]):
    def add(self, _part: str) -> None:
        """Nothing is kept."""


@contextmanager
def _marked_as_they_come() -> Iterator[None]:
    """A part is marked although the same part of an older entry is not."""
    plain = Finisher._mark_in_order

    def hasty(
        finisher: Finisher, works: list[GroupWork], done: set[PartKey], _blocked: set[str]
    ) -> None:
        plain(finisher, works, done, _Forgetful())

    with patch.object(Finisher, "_mark_in_order", hasty):
        yield


def _lost_of_all_groups(deriver: Deriver, content: Content, _dataset: str) -> set[str]:
    handles = [file.handle for file in content.files]
    return {each.final for each in handles if deriver._journal.store.look(each).is_lost}


def _all_parts(state: FeedState, number: int) -> tuple[str, ...]:
    undone = state.undone.get(number)
    return () if undone is None else tuple(undone.parts)


@contextmanager
def _checkpoints_without_what_is_owed() -> Iterator[None]:
    """Whoever begins at a checkpoint knows of no deletion that was owed then."""
    plain = FeedJournal._fold_to

    def forgetful(journal: FeedJournal, *args: Any) -> FeedFold:
        fold = plain(journal, *args)
        fold.state.owed.clear()
        return fold

    with patch.object(FeedJournal, "_fold_to", forgetful):
        yield


def _done_also_when_folded(state: FeedState, replace: Replace) -> str | None:
    return rules.done_objection(state, replace)


@contextmanager
def _all_failures_are_alike() -> Iterator[None]:
    """What failed while others worked counts as trouble of the store when it fails again."""
    plain = finisher_room._Round.is_of_the_store

    def blunt(found: finisher_room._Round, _own: Container[str]) -> bool:
        return plain(found, ())

    with patch.object(finisher_room._Round, "is_of_the_store", blunt):
        yield


def _resting_by_now(finisher: Finisher, part: str) -> bool:
    mine = finisher._mine
    return mine is not None and mine.troubles.is_resting(part, finisher._around.tick())


LANE_RULES: dict[str, Switch] = {
    "consumption proves done": _patch(fold_room, "_prove_consumed", _nothing),
    "consumption proves no deletion": _deletions_are_proven_too,
    "the groups consumed are those of the inputs": _patch(
        Inventory, "_consumed_objection", _nothing
    ),
    "deletions wait for the files": _patch(Finisher, "_may_delete", lambda *_: True),
    "parked deletions wait for the files, too": _patch(Finisher, "_ready", _all_of_them),
    "parts are marked in journal order": _marked_as_they_come,
    "one group is derived again": _patch(Deriver, "_lost_files", _lost_of_all_groups),
    "parked parts wait for an unpark": _patch(FeedState, "open_parts", _all_parts),
    "trouble of the store parks nothing": _patch(
        finisher_room._Round, "is_of_the_store", lambda *_: False
    ),
    "trouble of datasets is not that of the store": _all_failures_are_alike,
    "checkpoints carry what is owed": _checkpoints_without_what_is_owed,
    "rests are judged once in a round": _patch(Finisher, "_is_resting", _resting_by_now),
    "markers do not judge entries that are folded": _patch(
        rules, "replace_objection", _done_also_when_folded
    ),
    "what was consumed is not derived again": _patch(rules, "done_objection", _nothing),
}
