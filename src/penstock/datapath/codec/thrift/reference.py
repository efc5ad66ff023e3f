"""The slow way for Thrift, which is the reference: one record, byte by byte, by its own payload.

what a payload holds                          its fate
------------------------------------------    ------------------------------------------------
fewer bytes than a type or a length promises  bad: TRUNCATED, also if it has no bytes at all
bytes behind the end of the struct            bad: TRAILING_BYTES
a field, or items, keys or values, written    bad: WRONG_TYPE, even where Thrift's own libraries
  as another type is                            would pass over the field
a type that does not exist                    bad: OUT_OF_RANGE
a length or a count below zero                bad: OUT_OF_RANGE
a number in more than ten bytes, of more      bad: OUT_OF_RANGE
  than 64 bits, or of more than its type has
the number of a field outside -32768..32767   bad: OUT_OF_RANGE
a boolean that is neither true nor false      bad: OUT_OF_RANGE
bytes that are not UTF-8, in a string         bad: NOT_UTF8
a required field that is missing              bad: MISSING_FIELD
two fields of a union                         bad: WRONG_TYPE; none, which older readers see of a
                                                newer field, is a struct of nothing but nulls
over a million items, keys and values         bad: TOO_MANY
lists of structs that become over 4 Mi        bad: TOO_MANY; a struct in a list counts as many as
  values                                        it has columns
unknown fields that are well formed           skipped, as Thrift demands; they are in no column
                                                and are counted nowhere yet
unknown fields of more than 64 levels         bad: TOO_DEEP
one field twice                               the last one counts
one key twice in a map                        the last value counts, in the place of the first;
                                                in a list of keys and values both are kept
one item twice in a set                       both are kept
any type for the items of an empty list       read, also one that does not exist
an enum's number without a name               its digits
numbers with more bytes than they need        kept
NaN and infinity                              kept

Known values cannot nest deeper than the schema does, since no struct may contain itself.
"""

import uuid

from penstock.datapath.codec.shared.reasons import (
    MISSING_FIELD,
    NOT_UTF8,
    OUT_OF_RANGE,
    TOO_DEEP,
    TOO_MANY,
    TRAILING_BYTES,
    TRUNCATED,
    WRONG_TYPE,
    BadValue,
)
from penstock.datapath.codec.shared.value_count import too_many
from penstock.datapath.codec.shared.value_types import ColumnValue
from penstock.datapath.codec.thrift.payload_bytes import BinaryBytes, CompactBytes, PayloadBytes
from penstock.datapath.codec.thrift.struct_layout import Slot, StructBody, StructLayout
from penstock.datapath.codec.thrift.types import (
    BOOL,
    BYTE,
    DOUBLE,
    I16,
    I32,
    I64,
    LIST,
    MAP,
    MOST_ITEMS,
    MOST_LEVELS,
    NOTHING,
    SET,
    STOP,
    STRING,
    STRUCT,
    UUID,
    WIRES,
)

_WIDTHS = {BOOL: 1, BYTE: 1, DOUBLE: 8, UUID: 16, NOTHING: 0}
_WHOLE = {I16, I32, I64}
_NESTED = {STRUCT, LIST, SET, MAP}
_NAMES = {wire: kind for kind, wire in WIRES.items() if kind not in {"enum", "binary"}}


def read_one(
    payload: bytes, layout: StructLayout, skipped: int, most: int
) -> tuple[dict[str, ColumnValue], int]:
    """The columns of one record as Python values, and how many values its lists became.

    Raises BadValue, also when these are above `most`.
    """
    if skipped > len(payload):
        raise BadValue(TRUNCATED, "", "shorter than its header")
    made = CompactBytes if layout.is_compact else BinaryBytes
    reading = _Reading(made(payload, skipped), most)
    found = reading.struct(layout.body, "")
    if reading.left:
        detail = f"{reading.left} bytes behind the end of the struct"
        raise BadValue(TRAILING_BYTES, "", detail)
    return found, reading.values


class _Reading:
    """One payload and how far it was read."""

    def __init__(self, source: PayloadBytes, most: int) -> None:
        self._bytes = source
        self._most = most
        self._items = 0
        self.values = 0

    @property
    def left(self) -> int:
        """How many bytes were not read."""
        return self._bytes.left

    def struct(self, body: StructBody, path: str) -> dict[str, ColumnValue]:
        """The columns of a struct."""
        seen: dict[str, ColumnValue] = {}
        last = 0
        while (header := self._bytes.header(last, path)).wire != STOP:
            last = header.number
            slot = body.by_number.get(header.number)
            if slot is None:
                self._skip(header.wire, path, 0)
            elif header.wire == NOTHING:
                _expect(slot, BOOL)
                seen[slot.column] = header.truth
            else:
                _expect(slot, header.wire)
                seen[slot.column] = self._value(slot)
        return _complete(body, seen, path)

    def _value(self, slot: Slot) -> ColumnValue:
        """A value whose type is the one that was wanted."""
        path = slot.shape.path
        if slot.items:
            return self._entries(slot) if slot.wire == MAP else self._list(slot)
        if slot.body is not None:
            found = self.struct(slot.body, path)
            return found if slot.body.slots else True
        if slot.wire == BOOL:
            return self._bytes.truth(path)
        if slot.wire in _WHOLE:
            number = self._bytes.whole(slot.wire, path)
            return slot.names.get(number, str(number)) if slot.names else number
        if slot.wire == STRING:
            raw = self._bytes.take(self._bytes.size(path), path)
            return raw if slot.type.kind == "binary" else _text(raw, path)
        raw = self._bytes.take(_WIDTHS[slot.wire], path)
        if slot.wire == DOUBLE:
            return self._bytes.double(raw)
        if slot.wire == UUID:
            return str(uuid.UUID(bytes=raw))
        return int.from_bytes(raw, "big", signed=True)

    def _list(self, slot: Slot) -> list[ColumnValue]:
        wire, size = self._bytes.list_header(slot.shape.path)
        (item,) = slot.items
        self._count(slot, size)
        if size:
            _expect(item, wire)
        return [self._value(item) for _ in range(size)]

    def _entries(self, slot: Slot) -> list[ColumnValue]:
        """A map as pairs, or as structs where its keys are not texts."""
        keys, values, size = self._bytes.map_header(slot.shape.path)
        key, value = slot.items
        self._count(slot, size)
        if size:
            _expect(key, keys)
            _expect(value, values)
        pairs = [(self._value(key), self._value(value)) for _ in range(size)]
        if slot.shape.type.kind == "map":
            return list(dict(pairs).items())
        return [{"key": each, "value": inside} for each, inside in pairs]

    def _skip(self, wire: int, path: str, depth: int) -> None:
        """Step over a value of a field that the schema does not have."""
        if wire in _NESTED:
            if depth == MOST_LEVELS:
                detail = f"an unknown field nests more than {MOST_LEVELS} levels"
                raise BadValue(TOO_DEEP, path, detail)
            self._skip_inside(wire, path, depth + 1)
        elif wire == STRING:
            self._bytes.take(self._bytes.size(path), path)
        elif wire in _WHOLE:
            self._bytes.skip_whole(wire, path)
        elif wire in _WIDTHS:
            self._bytes.take(_WIDTHS[wire], path)
        else:
            raise _no_type(wire, path)

    def _skip_inside(self, wire: int, path: str, depth: int) -> None:
        if wire == STRUCT:
            last = 0
            while (header := self._bytes.header(last, path)).wire != STOP:
                last = header.number
                self._skip(header.wire, path, depth)
            return
        found = self._bytes.map_header(path) if wire == MAP else self._bytes.list_header(path)
        *kinds, size = found
        self._bytes.check_items(size, path)
        for _ in range(size):
            for kind in kinds:
                self._skip(kind, path, depth)

    def _count(self, slot: Slot, size: int) -> None:
        """Bound what a list, set or map holds."""
        path = slot.shape.path
        self._bytes.check_items(size, path)
        self._items += size
        self.values += slot.weight * size
        if self.values > self._most:
            raise BadValue(TOO_MANY, path, too_many(self._most))
        if self._items > MOST_ITEMS:
            raise BadValue(TOO_MANY, path, f"over {MOST_ITEMS} items in one record")


def _expect(slot: Slot, wire: int) -> None:
    """Refuse a value of another type."""
    if wire == slot.wire:
        return
    if wire not in _NAMES:
        raise _no_type(wire, slot.shape.path)
    detail = f"wanted {_NAMES[slot.wire]}, found {_NAMES[wire]}"
    raise BadValue(WRONG_TYPE, slot.shape.path, detail)


def _no_type(wire: int, path: str) -> BadValue:
    return BadValue(OUT_OF_RANGE, path, f"Thrift has no type {wire}")


def _complete(body: StructBody, seen: dict[str, ColumnValue], path: str) -> dict[str, ColumnValue]:
    """All columns of a struct, if it has all that it needs."""
    if body.is_union and len(seen) > 1:
        raise BadValue(WRONG_TYPE, path, f"a union of {len(seen)} fields: {', '.join(seen)}")
    for slot in body.slots:
        if slot.required and slot.column not in seen:
            raise BadValue(MISSING_FIELD, slot.shape.path, "it is required")
    return {slot.column: seen.get(slot.column) for slot in body.slots}


def _text(raw: bytes, path: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BadValue(NOT_UTF8, path, f"{error.reason} (byte {error.start})") from None
