"""The lake's own identity, so that a journal copied to another lake is noticed."""

import msgspec

from penstock.api.store import SeesAroundItself, Store
from penstock.errors import EntryDamaged, EntryNewer
from penstock.model.value import Value
from penstock.model.wire_formats import newer_or
from penstock.ports.store.create_once import create_once
from penstock.protocol.journal.errors import LakeInsideLake
from penstock.runtime.surroundings import Surroundings

LAKE_KEY = "_penstock/lake.json"
LAKE_FORMAT = 1  # of this object only: an older version must be able to read it, to say "upgrade"


class LakeIdentity(Value, frozen=True):
    """A random id, made once when the lake was first used."""

    format: int
    id: str


_lake_identity_decoder = msgspec.json.Decoder(LakeIdentity)


def lake_identity(store: Store, around: Surroundings) -> str:
    """The lake's id; the first to ask makes it. Safe to race."""
    known = known_identity(store)
    if known is not None:
        return known
    refuse_inside_another(store)
    mine = msgspec.json.encode(LakeIdentity(LAKE_FORMAT, around.nonce()))
    return _decode(create_once(store, LAKE_KEY, mine, around.sleep) or mine)


def refuse_inside_another(store: Store) -> None:
    """Raise `LakeInsideLake` if a directory around this place is a lake already.

    What is staged and what lies in a feed's directories is judged by the one journal that owns
    them; the outer lake would take the files of the inner one for its own, or for garbage.
    """
    around = store.place_around(LAKE_KEY) if isinstance(store, SeesAroundItself) else None
    if around is not None:
        raise LakeInsideLake(around)


def known_identity(store: Store) -> str | None:
    """The lake's id, or None when nobody has used the lake yet. Makes nothing."""
    found = store.read(LAKE_KEY)
    return None if found is None else _decode(found)


def _decode(found: bytes) -> str:
    try:
        identity = _lake_identity_decoder.decode(found)
    except msgspec.MsgspecError as error:
        damaged = EntryDamaged(LAKE_KEY, f"it is not a lake identity: {error}")
        raise newer_or(damaged, found, LAKE_FORMAT) from error
    if identity.format > LAKE_FORMAT:
        raise EntryNewer(LAKE_KEY, identity.format, LAKE_FORMAT)
    return identity.id
