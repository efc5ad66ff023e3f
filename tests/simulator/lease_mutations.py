"""Mutations of the lease and of who may claim: each must be noticed by the world of the lease."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

import msgspec

from penstock.feeds.leased_owner import LeasedOwner
from penstock.model.entries import AnyBody, SealedEntry
from penstock.ports.store.create_once import create_once
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.feed_lease import FeedBeat, FeedLease
from penstock.protocol.journal import lease as lease_room
from penstock.protocol.journal.beats import SeenBeat
from penstock.protocol.journal.journal import nobody_objects
from penstock.protocol.journal.numbered_beats import NumberedBeats, beat_keys
from penstock.testing.memory_store import Act, Answer, Shelf
from tests.simulator.lease_runs import first_lease_violation
from tests.simulator.mutations import Catch, Mutation

Switch = Callable[[], AbstractContextManager[object]]


def _patch(owner: object, name: str, new: object) -> Switch:
    return lambda: patch.object(owner, name, new)


def _nothing(*_args: object, **_kwargs: object) -> None:
    return None


def _yes(*_args: object, **_kwargs: object) -> bool:
    return True


def _take_without_a_second_look(
    form: NumberedBeats[FeedBeat],
    first: FeedBeat,
    over: Sequence[SeenBeat[FeedBeat]],
    *,
    force: bool,
) -> bool:
    """As before: who created the object holds the lease."""
    del over, force
    key, data = form._key(first.lease, 0), msgspec.json.encode(first)
    if create_once(form._store, key, data) is not None:
        return False
    for each in beat_keys(form._store, form._home):
        if each < key:
            form._store.delete(each)
    form._first, form._first_key, form._left = data, key, []
    return True


@contextmanager
def _beat_0_is_removed_like_others() -> Iterator[None]:
    take = NumberedBeats.take

    def taking(form: NumberedBeats[FeedBeat], *args: Any, **named: Any) -> bool:
        is_taken = take(form, *args, **named)
        form._left[:0] = [form._first_key] if is_taken else []
        return is_taken

    with patch.object(NumberedBeats, "take", taking):
        yield


@contextmanager
def _replace_whatever_is_there() -> Iterator[None]:
    perform = Shelf.perform

    def performing(shelf: Shelf, act: Act) -> tuple[Answer, Shelf]:
        if act.name == "replace":
            return True, shelf.with_object(act.key, act.data)
        return perform(shelf, act)

    with patch.object(Shelf, "perform", performing):
        yield


@contextmanager
def _force_again_and_again() -> Iterator[None]:
    start = LeasedOwner.try_start

    def starting(leased: LeasedOwner, *, force: bool = False) -> FeedBeat | None:
        leased._has_held = False
        return start(leased, force=force)

    with patch.object(LeasedOwner, "try_start", starting):
        yield


@contextmanager
def _look_once_however_often_an_epoch_is_lost() -> Iterator[None]:
    claim = FeedJournal.claim

    def claiming(
        journal: FeedJournal, fold: FeedFold, owner: str, require: Callable[[], None]
    ) -> int:
        return claim(journal, fold, owner, cache(require))

    with patch.object(FeedJournal, "claim", claiming):
        yield


@contextmanager
def _look_once_however_often_a_number_is_lost() -> Iterator[None]:
    append = FeedJournal.append

    def appending(
        journal: FeedJournal,
        fold: FeedFold,
        body: AnyBody,
        epoch: int,
        require: Callable[[], None] = nobody_objects,
    ) -> SealedEntry:
        return append(journal, fold, body, epoch, cache(require))

    with patch.object(FeedJournal, "append", appending):
        yield


@contextmanager
def _look_before_the_journal_is_settled() -> Iterator[None]:
    """As before: first the look, then all that an entry needs."""
    append = FeedJournal.append

    def appending(
        journal: FeedJournal,
        fold: FeedFold,
        body: AnyBody,
        epoch: int,
        require: Callable[[], None] = nobody_objects,
    ) -> SealedEntry:
        require()
        return append(journal, fold, body, epoch)

    with patch.object(FeedJournal, "append", appending):
        yield


def _look_before_the_first_try_only(
    journal: FeedJournal, require: Callable[[], None], key: str, data: bytes
) -> bytes | None:
    require()
    return journal.create(key, data)


def _start_over_at_once(leased: LeasedOwner) -> None:
    """As before: claim again, whoever owns the feed by now."""
    leased.owner = leased._new_owner()
    leased.owner.take_over()


def _only_the_newest(seen: Sequence[SeenBeat[FeedBeat]]) -> Sequence[SeenBeat[FeedBeat]]:
    return seen[-1:]


@contextmanager
def _beats_of_older_leases_do_not_count() -> Iterator[None]:
    alive = FeedLease._those_alive

    def counting(lease: FeedLease, seen: Sequence[SeenBeat[FeedBeat]]) -> list[SeenBeat[FeedBeat]]:
        return alive(lease, _only_the_newest(seen))

    with patch.object(FeedLease, "_those_alive", counting):
        yield


LEASE_MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "lease: looked at before a claim",
        _patch(FeedLease, "is_still_mine", lambda lease: lease.is_mine),
    ),
    Mutation(
        "lease: looked at right before the claim", _patch(LeasedOwner, "require_lease", _nothing)
    ),
    Mutation(
        "lease: looked at again when an epoch was lost", _look_once_however_often_an_epoch_is_lost
    ),
    Mutation(
        "lease: looked at again when a number was lost", _look_once_however_often_a_number_is_lost
    ),
    Mutation(
        "lease: looked at when nothing else is left to ask", _look_before_the_journal_is_settled
    ),
    Mutation(
        "lease: looked at again when a claim had no answer",
        _patch(FeedJournal, "_create_if", _look_before_the_first_try_only),
    ),
    Mutation(
        "lease: looked at before starting over",
        _patch(LeasedOwner, "start_over", _start_over_at_once),
    ),
    Mutation("lease: looked at at each beat", _patch(NumberedBeats, "is_held", _yes)),
    Mutation("lease: beat 0 stays", _beat_0_is_removed_like_others),
    Mutation(
        "lease: looked at once more when it was begun",
        _patch(NumberedBeats, "take", _take_without_a_second_look),
    ),
    Mutation("lease: silence is waited for", _patch(lease_room, "STALE_S", 0.0)),
    Mutation("lease: one object is replaced conditionally", _replace_whatever_is_there),
    Mutation("lease: taken by force once", _force_again_and_again),
    Mutation("lease: beats of an older one count", _beats_of_older_leases_do_not_count),
    Mutation("lease: whoever is fenced holds it no more", _patch(FeedLease, "drop", _nothing)),
)


def catch_lease(mutation: Mutation, seeds: int = 1_000) -> Catch:
    """Run the directed worlds, then random ones, until something is noticed."""
    with mutation.switch_off():
        why = first_lease_violation(seeds)
    by, _, error = why.partition(": ")
    return Catch(mutation.rule, by, error or "nothing noticed", seeds)
