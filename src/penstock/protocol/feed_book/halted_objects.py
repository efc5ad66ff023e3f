"""The objects of a halted feed: written, read and removed. No run depends on them.

They lie under the epoch and the number of the entry that would have come next. A reader folds the
journal and asks for exactly that name: whatever was written before any later entry is void.
"""

import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from penstock.errors import EntryNewer, PenstockError
from penstock.model.halted import (
    HALTED_FORMAT,
    HALTED_SAMPLES_FORMAT,
    Halted,
    HaltedSample,
    HaltedSamples,
)
from penstock.model.wire_formats import newer_or
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.errors import HaltedDamaged
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState

_NAME = re.compile(r"(\d+)-(\d{20})(?:\.samples)?\.json")
_decoder = msgspec.json.Decoder(Halted)
_samples_decoder = msgspec.json.Decoder(HaltedSamples)

H = TypeVar("H", Halted, HaltedSamples)
Moment = tuple[int, int]  # the epoch, and the number of the entry that would come next


def read_halted(journal: FeedJournal, state: FeedState) -> Halted | None:
    """Why the feed is halted now; None when it is not. Reads one object.

    Raises `HaltedDamaged`, and `EntryNewer` when a newer version wrote it.
    """
    if state.is_new:
        return None
    key = journal.layout.halted_object(state.epoch, state.number + 1)
    raw = journal.store.read(key)
    if raw is None:
        return None
    return _checked(journal, key, raw, (state.epoch, state.number + 1))


def shown_halted(journal: FeedJournal, state: FeedState) -> Halted | None:
    """Why the feed is halted now, for display: what cannot be read is itself shown as the cause."""
    try:
        return read_halted(journal, state)
    except (HaltedDamaged, EntryNewer) as error:
        return _unreadable(journal, state, error)


def read_samples(journal: FeedJournal, halted: Halted) -> tuple[HaltedSample, ...]:
    """The broken records that were kept when the feed halted; there may be none."""
    moment = (halted.epoch, halted.number)
    key = journal.layout.halted_samples(*moment)
    raw = journal.store.read(key)
    if raw is None:
        return ()
    found = _decoded(key, raw, _samples_decoder, HALTED_SAMPLES_FORMAT)
    _check_home(journal, key, found, moment)
    return found.samples


def write_halted(
    journal: FeedJournal, halted: Halted, samples: tuple[HaltedSample, ...] = ()
) -> None:
    """Leave word that the feed has halted, in place of what was left before.

    Samples come first, so that whoever sees the halt can see them. Dying in between leaves less
    word, or none; the next start halts again and leaves it then.
    """
    store, layout = journal.store, journal.layout
    mine = (halted.epoch, halted.number)
    earlier = _newest_readable(journal, mine)
    if earlier is not None and halted.is_same_cause(earlier):
        halted = halted.with_since(earlier.since)
    for key in _keys(journal, up_to=mine):
        store.delete(key)
    if samples:
        kept = HaltedSamples(
            feed=halted.feed,
            lake=halted.lake,
            epoch=halted.epoch,
            number=halted.number,
            samples=samples,
        )
        journal.create(layout.halted_samples(*mine), msgspec.json.encode(kept))
    journal.create(layout.halted_object(*mine), msgspec.json.encode(halted))


def carry_halted(journal: FeedJournal, epoch: int, number: int) -> None:
    """Move word of a halt behind an entry that changed nothing about its cause.

    `number` is that of the entry. Under an epoch that is over by now, it says nothing; dying in
    between leaves no word until the next run halts again.
    """
    key = journal.layout.halted_object(epoch, number)
    raw = journal.store.read(key)
    if raw is None:
        return
    halted = _checked(journal, key, raw, (epoch, number))
    samples = read_samples(journal, halted)
    write_halted(journal, msgspec.structs.replace(halted, number=number + 1), samples)


def remove_void(journal: FeedJournal, state: FeedState) -> None:
    """Remove what was left before the newest entry: the feed has gone on since."""
    for key in _keys(journal, up_to=(state.epoch, state.number)):
        journal.store.delete(key)


def void_halts(journal: FeedJournal, state: FeedState) -> tuple[str, ...]:
    """The objects of halts that are over, which nobody reads any more. Changes nothing.

    Those of the last halt are kept until a window was decided since: if the feed halts again for
    the same cause, they tell since when.
    """
    keys = {key: _moment_of(key) for key in _keys(journal, up_to=(state.epoch, state.number))}
    last = max((moment for moment in keys.values() if moment is not None), default=None)
    if last is not None:
        halted = _newest_readable(journal, last)
        if halted is None or halted.windows >= state.windows:
            keys = {key: moment for key, moment in keys.items() if moment != last}
    return tuple(keys)


def _keys(journal: FeedJournal, up_to: Moment) -> Iterator[str]:
    """The objects of halts up to a moment. Those of a newer epoch are not ours to touch."""
    for key in list_keys(journal.store, journal.layout.halted):
        moment = _moment_of(key)
        if moment is not None and moment <= up_to:
            yield key


def _moment_of(key: str) -> Moment | None:
    found = _NAME.fullmatch(key.rpartition("/")[2])
    return (int(found[1]), int(found[2])) if found else None


def _newest_readable(journal: FeedJournal, up_to: Moment) -> Halted | None:
    """The halt before this one, void or not; None when nothing readable was left of it."""
    moments = [moment for key in _keys(journal, up_to) if (moment := _moment_of(key)) is not None]
    if not moments:
        return None
    newest = max(moments)
    key = journal.layout.halted_object(*newest)
    try:
        raw = journal.store.read(key)
        return None if raw is None else _checked(journal, key, raw, newest)
    except (HaltedDamaged, EntryNewer):
        return None  # it would only have said since when


def _checked(journal: FeedJournal, key: str, raw: bytes, moment: Moment) -> Halted:
    found = _decoded(key, raw, _decoder, HALTED_FORMAT)
    _check_home(journal, key, found, moment)
    return found


def _decoded(key: str, raw: bytes, decoder: "msgspec.json.Decoder[H]", known: int) -> H:
    try:
        found = decoder.decode(raw)
    except (msgspec.MsgspecError, ValueError) as error:
        damaged = HaltedDamaged(key, f"it does not say why a feed halted: {error}")
        raise newer_or(damaged, raw, known) from error
    if found.format > known:
        raise EntryNewer(key, found.format, known)
    return found


def _check_home(
    journal: FeedJournal, key: str, found: Halted | HaltedSamples, moment: Moment
) -> None:
    """It must say of itself where it lies: a copied file says nothing about this feed."""
    wanted = (journal.layout.feed, journal.lake, *moment)
    if (found.feed, found.lake, found.epoch, found.number) != wanted:
        raise HaltedDamaged(key, f"it is about feed {found.feed!r}, another lake or another entry")


def _unreadable(journal: FeedJournal, state: FeedState, error: PenstockError) -> Halted:
    return Halted(
        feed=journal.layout.feed,
        lake=journal.lake,
        epoch=state.epoch,
        number=state.number + 1,
        windows=state.windows,
        code=error.code,
        sentence=error.found,
        advice=error.advice,
        since="",
        at="",
        owner=state.owner,
    )
