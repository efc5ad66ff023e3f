"""The slow way for Avro, which is the reference: one record, byte by byte, from its own payload.

what a payload holds                          its fate
------------------------------------------    ------------------------------------------------
fewer bytes than its schema asks for          bad: TRUNCATED
more bytes                                    bad: TRAILING_BYTES
a number in more than ten bytes, or in more   bad: OUT_OF_RANGE
  bits than its type has
a branch or a symbol that does not exist      bad: OUT_OF_RANGE
a boolean that is neither 0 nor 1             bad: OUT_OF_RANGE
a length or a count below zero, but for the   bad: OUT_OF_RANGE
  count of a block that tells its size
a block that is not as long as it says        bad: OUT_OF_RANGE
bytes that are not UTF-8, in a string         bad: NOT_UTF8
a decimal of more digits than its type        bad: OUT_OF_RANGE
a date or time outside the years 1 to 9999    bad: OUT_OF_RANGE
one key twice in a map                        both are kept, as in the bytes
numbers with more bytes than they need        kept
NaN and infinity                              kept
"""

import struct
from decimal import Decimal

from penstock.datapath.codec.avro.types import AvroType
from penstock.datapath.codec.shared.reasons import (
    NOT_UTF8,
    OUT_OF_RANGE,
    TRAILING_BYTES,
    TRUNCATED,
    BadValue,
)
from penstock.datapath.codec.shared.shapes import Shape, bounds_of

_LONGEST_VARINT = 10
_INT32 = 2**31
# Items of some types take no bytes, so that ten bytes could ask for more of them than there is
# memory in the world.
_MOST_EMPTY_ITEMS = 65_536


def read_one(payload: bytes, root: AvroType, shape: Shape, skipped: int) -> dict[str, object]:
    """The columns of one record, as Python values; raises BadValue."""
    reading = _Reading(payload, skipped)
    found = reading.record(root, shape)
    if reading.at < len(payload):
        count = len(payload) - reading.at
        raise BadValue(TRAILING_BYTES, "", f"{count} bytes more than the schema asks for")
    return found


class _Reading:
    """One payload and how far it was read."""

    def __init__(self, payload: bytes, at: int) -> None:
        self._payload = payload
        self.at = at
        if at > len(payload):
            raise BadValue(TRUNCATED, "", "shorter than its header")

    def value(self, kind: AvroType, shape: Shape) -> object:
        """The value of a type that has this shape as a column."""
        path = shape.path
        if kind.kind == "union":
            return self._union(kind, shape)
        if kind.kind == "record":
            return self.record(kind, shape) if shape.record is not None else True
        if kind.kind in {"array", "map"}:
            return self._items(kind, shape)
        if kind.logical == "decimal":
            return self._decimal(kind, shape)
        if kind.kind in {"int", "long"}:
            return self._integer(kind, shape)
        if kind.kind == "enum":
            return kind.symbols[self._index(len(kind.symbols), path)]
        if kind.kind == "boolean":
            return self._boolean(path)
        if kind.kind in {"float", "double"}:
            layout, width = ("<f", 4) if kind.kind == "float" else ("<d", 8)
            return struct.unpack(layout, self._take(width, path))[0]
        if kind.kind == "fixed":
            return self._take(kind.size, path)
        return self._text(path) if kind.kind == "string" else self._bytes(path)

    def record(self, kind: AvroType, shape: Shape) -> dict[str, object]:
        """The columns of a record."""
        members = shape.record.members if shape.record is not None else ()
        kinds = [field.type for field in kind.fields if field.type.kind != "null"]
        return {
            member.column: self.value(each, member.shape)
            for each, member in zip(kinds, members, strict=True)
        }

    def _union(self, kind: AvroType, shape: Shape) -> object:
        branch = self._index(len(kind.branches), shape.path)
        if kind.branches[branch].kind == "null":
            return None
        present = [at for at, each in enumerate(kind.branches) if each.kind != "null"]
        if len(present) == 1:
            return self.value(kind.branches[branch], shape)
        members = shape.record.members if shape.record is not None else ()
        mine = members[present.index(branch)]
        nothing: dict[str, object] = dict.fromkeys(member.column for member in members)
        return nothing | {mine.column: self.value(kind.branches[branch], mine.shape)}

    def _items(self, kind: AvroType, shape: Shape) -> list[object]:
        """The items of all blocks; with their keys, if it is a map."""
        if kind.item is None or shape.item is None:
            raise ValueError(f"a {kind.kind} without items")
        found: list[object] = []
        while (count := self._long(shape.path)) != 0:
            end = None
            if count < 0:
                count, size = -count, self._long(shape.path)
                end = self.at + size
            for _ in range(count):
                before = self.at
                key = self._text(shape.path) if kind.kind == "map" else None
                item = self.value(kind.item, shape.item)
                found.append((key, item) if kind.kind == "map" else item)
                if self.at == before and len(found) > _MOST_EMPTY_ITEMS:
                    raise BadValue(OUT_OF_RANGE, shape.path, "too many items without bytes")
            if end is not None and end != self.at:
                raise BadValue(OUT_OF_RANGE, shape.path, "a block is not as long as it says")
        return found

    def _integer(self, kind: AvroType, shape: Shape) -> int:
        low, high = bounds_of(shape.type)
        if kind.kind == "int":
            low, high = max(low, -_INT32), min(high, _INT32 - 1)
        found = self._long(shape.path)
        if not low <= found <= high:
            raise BadValue(
                OUT_OF_RANGE, shape.path, f"out of range for {kind.logical or kind.kind}"
            )
        return found if shape.type.kind in {"int64", "date"} else found * shape.type.unit_us

    def _decimal(self, kind: AvroType, shape: Shape) -> Decimal:
        path = shape.path
        raw = self._bytes(path) if kind.kind == "bytes" else self._take(kind.size, path)
        digits = int.from_bytes(raw, "big", signed=True)
        if not raw or abs(digits) >= 10**kind.precision:
            detail = f"does not fit decimal({kind.precision}, {kind.scale})"
            raise BadValue(OUT_OF_RANGE, path, detail)
        sign, number = int(digits < 0), str(abs(digits))
        return Decimal((sign, tuple(map(int, number)), -kind.scale))

    def _boolean(self, path: str) -> bool:
        found = self._take(1, path)[0]
        if found > 1:
            raise BadValue(OUT_OF_RANGE, path, "neither true nor false")
        return found == 1

    def _index(self, count: int, path: str) -> int:
        found = self._long(path)
        if not 0 <= found < count:
            raise BadValue(OUT_OF_RANGE, path, f"there are only {count} branches or symbols")
        return found

    def _text(self, path: str) -> str:
        raw = self._bytes(path)
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise BadValue(NOT_UTF8, path, f"{error.reason} (byte {error.start})") from None

    def _bytes(self, path: str) -> bytes:
        length = self._long(path)
        if length < 0:
            raise BadValue(OUT_OF_RANGE, path, "a length below zero")
        return self._take(length, path)

    def _take(self, count: int, path: str) -> bytes:
        if count > len(self._payload) - self.at:
            raise BadValue(TRUNCATED, path, "the payload ends inside")
        start, self.at = self.at, self.at + count
        return self._payload[start : self.at]

    def _long(self, path: str) -> int:
        """A signed number of up to 64 bits."""
        found = shift = 0
        for _ in range(_LONGEST_VARINT):
            byte = self._take(1, path)[0]
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        else:
            raise BadValue(OUT_OF_RANGE, path, "a number in more than ten bytes")
        if found >= 2**64:
            raise BadValue(OUT_OF_RANGE, path, "a number of more than 64 bits")
        return (found >> 1) ^ -(found & 1)
