"""The lake's own identity, so that a journal copied to another lake is noticed."""

import msgspec

from penstock.api.store import SeesAroundItself, Store
from penstock.errors import EntryDamaged, EntryNewer
from penstock.model.layout import is_entry_key, is_journal_key
from penstock.model.value import Value
from penstock.model.wire_formats import newer_or
from penstock.ports.store.create_once import create_once
from penstock.ports.store.split_store import SplitStore, lake_of
from penstock.protocol.journal.errors import (
    JournalForeign,
    LakeIdMissing,
    LakeInsideLake,
    LakeMissing,
)
from penstock.runtime.surroundings import Surroundings

_HOME = "_penstock"
LAKE_KEY = f"{_HOME}/lake.json"
LAKE_FORMAT = 1  # of this object only: an older version must be able to read it, to say "upgrade"


class LakeIdentity(Value, frozen=True):
    """A random id, made once when the lake was first used."""

    format: int
    id: str


_lake_identity_decoder = msgspec.json.Decoder(LakeIdentity)


def lake_identity(store: Store, around: Surroundings) -> str:
    """The lake's id; the first to ask makes it. Safe to race.

    Where journals have a store of their own, the id is decided there, and the lake gets the same
    bytes from whoever makes it: so the lake's store need not choose between two that race. A
    journal keeps the id, so that it is never used with another lake. Raises `LakeIdMissing`.
    """
    if not isinstance(store, SplitStore):
        known = _known(store)
        if known is not None:
            return known
        refuse_inside_another(store)
        return _made(store, around.nonce(), around)
    lake, journals = _known_of_both(store)
    if lake is None:
        refuse_inside_another(store)
    if lake is None or journals is None:
        journals = _made(store.journal, lake or journals or around.nonce(), around)
        lake = _made(store.lake, journals, around)
        _check_same(store, lake, journals)
    return lake


def refuse_inside_another(store: Store) -> None:
    """Raise `LakeInsideLake` if a directory around this place is a lake already.

    What is staged and what lies in a feed's directories is judged by the one journal that owns
    them; the outer lake would take the files of the inner one for its own, or for garbage.
    """
    lake = lake_of(store)
    around = lake.place_around(LAKE_KEY) if isinstance(lake, SeesAroundItself) else None
    if around is not None:
        raise LakeInsideLake(around)


def known_identity(store: Store) -> str | None:
    """The lake's id, or None when nobody has used the lake yet. Makes nothing.

    Raises `LakeIdMissing` if there are journals and no id.
    """
    return _known_of_both(store)[0] if isinstance(store, SplitStore) else _known(store)


def _known(store: Store) -> str | None:
    """The id of a lake that has its journals; None for one that nobody has used.

    A lake whose id is lost is never treated as a new one: with another id all of its journals
    would be foreign. The id is asked for again after the entries, because a first start beside us
    writes it before them.
    """
    known = _read(store)
    if known is not None:
        return known
    listed = store.list_objects(_HOME)
    entry = next((each.key for each in listed if is_entry_key(each.key)), None)
    if entry is None:
        return None
    known = _read(store)
    if known is None:
        raise LakeIdMissing(LAKE_KEY, LAKE_FORMAT, entry)
    return known


def _known_of_both(store: SplitStore) -> tuple[str | None, str | None]:
    """The id that the lake has, and the one that its journals have."""
    lake, journals = _read(store), store.ask(store.journal, _read)
    if lake is None and journals is not None:
        lake = _lake_after_feeds(store)
    if lake is not None and journals is not None:
        _check_same(store, lake, journals)
    return lake, journals


def _lake_after_feeds(store: SplitStore) -> str | None:
    """A journal without a lake is a first start that is not finished, or its lake is gone.

    The lake is asked again after the journal's feeds, because a first start writes its id before
    them.
    """
    listed = store.journal.list_objects(_HOME)
    feed = next((each.key for each in listed if is_journal_key(each.key)), None)
    lake = _read(store)
    if feed is not None and lake is None:
        raise LakeMissing(store.place, feed)
    return lake


def _made(store: Store, lake: str, around: Surroundings) -> str:
    """The id in a store after it was created there, if it was absent."""
    mine = msgspec.json.encode(LakeIdentity(LAKE_FORMAT, lake))
    return _decode(create_once(store, LAKE_KEY, mine, around.sleep) or mine)


def _read(store: Store) -> str | None:
    found = store.read(LAKE_KEY)
    return None if found is None else _decode(found)


def _check_same(store: SplitStore, lake: str, journals: str) -> None:
    if lake != journals:
        raise JournalForeign(store.place, "lake", lake, journals)


def _decode(found: bytes) -> str:
    try:
        identity = _lake_identity_decoder.decode(found)
    except msgspec.MsgspecError as error:
        damaged = EntryDamaged(LAKE_KEY, f"it is not a lake identity: {error}")
        raise newer_or(damaged, found, LAKE_FORMAT) from error
    if identity.format > LAKE_FORMAT:
        raise EntryNewer(LAKE_KEY, identity.format, LAKE_FORMAT)
    return identity.id
