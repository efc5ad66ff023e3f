"""The objects of an inventory checkpoint: shards, and a root that lists them. Values and bytes.

A shard holds the live files of a dataset and day, or the quarantined records of a partition. A
root names an entry and every shard up to it, and is created after them all. Neither is ever
changed. The hash of a shard is that of its content as plain JSON, however that was packed.
"""

import hashlib
from typing import TypeVar

import msgspec

from penstock.errors import EntryNewer, JournalError
from penstock.model.evidence import Evidence
from penstock.model.manifest import RecordSet
from penstock.model.packing import is_worth_packing, pack, unpack
from penstock.model.ranges import OffsetRange
from penstock.model.value import Value
from penstock.model.wire_formats import format_of
from penstock.protocol.journal.wire import seal, unseal

INVENTORY_FORMAT = 1  # raised by every change of these classes, of the names of shards, or of what
# entries do to an inventory; what has an older number is not used, and written again


class ShardFile(Value, frozen=True):
    """A live file, and the entry that delivered it; `ranges` only for files of the quarantine."""

    final: str
    number: int
    dataset: str
    evidence: Evidence
    ranges: tuple[OffsetRange, ...] = ()


class Shard(Value, frozen=True):
    """The content of a shard, in order of names. Records that have all left stay, as empty sets."""

    name: str
    files: tuple[ShardFile, ...] = ()
    records: tuple[RecordSet, ...] = ()


class ShardObject(Value, frozen=True):
    """A shard as it lies in the lake: its content, or that packed."""

    format: int
    name: str
    content: Shard | None = None
    packed: bytes | None = None


class ShardRef(Value, frozen=True):
    """A shard as a root lists it: where it is, and what must be in it."""

    name: str
    number: int  # the entry up to which it was written; with the hash, its key
    sha256: str
    count: int  # files, or records
    evidence: Evidence


class RootObject(Value, frozen=True):
    """The root as it lies in the lake: the entry, and the shards or those packed."""

    format: int
    number: int
    sha256: str
    shards: tuple[ShardRef, ...] | None = None
    packed: bytes | None = None


class InventoryRoot(Value, frozen=True):
    """Every shard of the inventory up to an entry, which it names with its hash."""

    number: int
    sha256: str
    shards: tuple[ShardRef, ...]


T = TypeVar("T", ShardObject, RootObject)

_shards = msgspec.json.Decoder(Shard)
_shard_objects = msgspec.json.Decoder(ShardObject)
_root_objects = msgspec.json.Decoder(RootObject)
_refs = msgspec.json.Decoder(tuple[ShardRef, ...])


def shard_bytes(shard: Shard) -> tuple[bytes, str]:
    """The object of a shard, and the hash of its content."""
    plain = msgspec.json.encode(shard)
    sha256 = hashlib.sha256(plain).hexdigest()
    if is_worth_packing(plain):
        whole = ShardObject(INVENTORY_FORMAT, shard.name, packed=pack(plain))
    else:
        whole = ShardObject(INVENTORY_FORMAT, shard.name, content=shard)
    return seal(whole)[0], sha256


def read_shard(key: str, raw: bytes, ref: ShardRef) -> Shard | str:
    """The shard that a root lists, or why this is not it. Raises `EntryNewer`."""
    try:
        found = _unsealed(_shard_objects, key, raw)
        plain = msgspec.json.encode(found.content) if found.packed is None else unpack(found.packed)
        if hashlib.sha256(plain).hexdigest() != ref.sha256:
            return "its content has another hash"
        shard = _shards.decode(plain)
    except EntryNewer:
        raise
    except (JournalError, ValueError) as error:
        return str(error)
    if (shard.name, found.format) != (ref.name, INVENTORY_FORMAT):
        return f"it is {shard.name!r} of format {found.format}"
    return shard


def root_bytes(root: InventoryRoot) -> bytes:
    """The object of a root."""
    plain = msgspec.json.encode(root.shards)
    whole = RootObject(INVENTORY_FORMAT, root.number, root.sha256, root.shards)
    if is_worth_packing(plain):
        whole = msgspec.structs.replace(whole, shards=None, packed=pack(plain))
    return seal(whole)[0]


def read_root(key: str, raw: bytes) -> InventoryRoot | None:
    """A root; None when it is damaged or of an older format. Raises `EntryNewer`."""
    try:
        found = _unsealed(_root_objects, key, raw)
        if found.format != INVENTORY_FORMAT:
            return None
        shards = found.shards if found.packed is None else _refs.decode(unpack(found.packed))
    except EntryNewer:
        raise
    except (JournalError, ValueError):
        return None
    return None if shards is None else InventoryRoot(found.number, found.sha256, shards)


def _unsealed(decoder: msgspec.json.Decoder[T], key: str, raw: bytes) -> T:
    """The object inside sealed bytes. A newer format is told before anything else is judged."""
    plain, _ = unseal(key, raw)
    number = format_of(plain)
    if number is not None and number > INVENTORY_FORMAT:
        raise EntryNewer(key, number, INVENTORY_FORMAT)
    return decoder.decode(plain)
