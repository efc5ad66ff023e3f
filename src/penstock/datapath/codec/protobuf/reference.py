"""The slow way for Protobuf, which is the reference: one record, byte by byte, by its own payload.

what a payload holds                          its fate
------------------------------------------    ------------------------------------------------
fewer bytes than a tag or a length promises   bad: TRUNCATED
a packed field that ends inside a number      bad: TRUNCATED
a field written as another type is            bad: WRONG_TYPE, even where Protobuf's own libraries
                                                would take it for an unknown field
a number in more than ten bytes, or of more   bad: OUT_OF_RANGE
  than 64 bits
a number of more bits than its field has      its lowest bits count, as in Protobuf
the field 0, or one beyond the last number    bad: OUT_OF_RANGE
a wire type that does not exist, the end of   bad: OUT_OF_RANGE
  a group that did not begin
bytes that are not UTF-8, in a string         bad: NOT_UTF8, in proto2 as well
a required field that is missing              bad: MISSING_FIELD
a Timestamp outside the years 1 to 9999, or   bad: OUT_OF_RANGE
  with nanoseconds below 0 or of over a second
a Duration beyond 10,000 years, or with parts bad: OUT_OF_RANGE
  of different signs
over a million items                          bad: OUT_OF_RANGE
lists of messages that become over 4 Mi       bad: TOO_MANY; a message in a list counts as many as
  values                                        its struct has columns
unknown fields that are well formed, also     skipped, as Protobuf demands; they are in no column
  groups, of up to 100 levels                   and are counted nowhere yet; deeper ones: TOO_DEEP
one field twice                               the last one counts; messages are merged
two fields of a oneof                         the last one counts
one key twice in a map                        the last value counts, in the place of the first
numbers packed or not, or some of each        both are read
an enum's number without a name               its digits
numbers with more bytes than they need        kept
NaN and infinity                              kept

Messages cannot nest deeper than the schema does, since no message may contain itself.
"""

import struct
from decimal import Decimal

from penstock.datapath.codec.protobuf.message_layout import MessageBody, Slot
from penstock.datapath.codec.protobuf.types import (
    EIGHT_BYTES,
    FOUR_BYTES,
    GROUP,
    GROUP_END,
    LAST_NUMBER,
    LENGTH,
    VARINT,
)
from penstock.datapath.codec.shared.reasons import (
    MISSING_FIELD,
    NOT_UTF8,
    OUT_OF_RANGE,
    TOO_DEEP,
    TOO_MANY,
    TRUNCATED,
    WRONG_TYPE,
    BadValue,
)
from penstock.datapath.codec.shared.value_count import too_many
from penstock.datapath.codec.shared.value_types import ColumnValue

MOST_ITEMS = 1024 * 1024
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 and 9999
MOST_SECONDS = 315_576_000_000  # of a Duration, either way
MOST_NANOS = 999_999_999
MOST_GROUPS = 100  # one in the other, as in Protobuf's own libraries

_LONGEST_VARINT = 10
_WIDTHS = {FOUR_BYTES: 4, EIGHT_BYTES: 8}
_LAYOUTS = {
    "fixed32": "<I",
    "sfixed32": "<i",
    "float": "<f",
    "fixed64": "<Q",
    "sfixed64": "<q",
    "double": "<d",
}
Seen = dict[int, ColumnValue]  # what a message holds, by the numbers of its fields


def read_one(
    payload: bytes, body: MessageBody, skipped: int, most: int
) -> tuple[dict[str, ColumnValue], int]:
    """The columns of one record as Python values, and how many values its lists became.

    Raises BadValue, also when these are above `most`.
    """
    if skipped > len(payload):
        raise BadValue(TRUNCATED, "", "shorter than its header")
    seen: Seen = {}
    reading = _Reading(payload, skipped, most)
    reading.message(body, seen, len(payload), "")
    return _struct(body, seen), reading.values


class _Reading:
    """One payload and how far it was read."""

    def __init__(self, payload: bytes, at: int, most: int) -> None:
        self._payload = payload
        self._at = at
        self._most = most
        self._items = 0
        self.values = 0

    def message(self, body: MessageBody, seen: Seen, end: int, path: str) -> None:
        """Add what a message holds to what was seen of it before."""
        while self._at < end:
            number, wire = self._tag(end, path)
            _check_tag(number, wire, path)
            slot = body.by_number.get(number)
            if slot is None and wire == GROUP:
                self._skip_group(number, end, path)
            elif slot is None:
                self._skip(wire, end, path)
            elif slot.field.label == "map":
                self._expect(slot, wire)
                self._entry(slot, seen.setdefault(number, {}), end)
            elif slot.field.label == "repeated":
                self._repeated(slot, wire, seen.setdefault(number, []), end)
            else:
                self._expect(slot, wire)
                self._singular(body, slot, seen, end)

    def _singular(self, body: MessageBody, slot: Slot, seen: Seen, end: int) -> None:
        if slot.field.oneof:
            for rival in body.slots:
                if rival.field.oneof == slot.field.oneof and rival is not slot:
                    seen.pop(rival.field.number, None)
        if slot.body is None:
            seen[slot.field.number] = self._scalar(slot, end)
        else:
            self._inside(slot, seen.setdefault(slot.field.number, {}), end)

    def _repeated(self, slot: Slot, wire: int, items: list[ColumnValue], end: int) -> None:
        """One more item, or a packed row of them."""
        if wire == LENGTH and slot.field.wire != LENGTH:
            inner = self._end_of_span(end, slot.item.path)
            while self._at < inner:
                self._count(slot)
                items.append(self._scalar(slot, inner))
            return
        self._expect(slot, wire)
        self._count(slot)
        if slot.body is None:
            items.append(self._scalar(slot, end))
            return
        items.append({})
        self._inside(slot, items[-1], end)

    def _entry(self, slot: Slot, entries: dict[ColumnValue, ColumnValue], end: int) -> None:
        """One more key and value; what an entry does not hold has its default."""
        self._count(slot)
        if slot.body is None:
            raise ValueError("a map without entries")
        seen: Seen = {}
        self._inside(slot, seen, end)
        key, value = slot.body.slots
        blank: ColumnValue = value.blank if value.body is None else {}
        entries[seen.get(1, key.blank)] = seen.get(2, blank)

    def _inside(self, slot: Slot, seen: Seen, end: int) -> None:
        if slot.body is None:
            raise ValueError("a message without fields of its own")
        inner = self._end_of_span(end, slot.item.path)
        self.message(slot.body, seen, inner, slot.item.path)

    def _scalar(self, slot: Slot, end: int) -> ColumnValue:
        """A value that is not a message; an enum as its number."""
        kind, path = slot.field.kind, slot.item.path
        if kind in _LAYOUTS:
            raw = self._take(_WIDTHS[slot.field.wire], end, path)
            return struct.unpack(_LAYOUTS[kind], raw)[0]
        if kind in {"string", "bytes"}:
            raw = self._take(self._varint(end, path), end, path)
            return raw if kind == "bytes" else _text(raw, path)
        return _whole(kind, self._varint(end, path))

    def _skip(self, wire: int, end: int, path: str) -> None:
        """Step over a field that the schema does not have."""
        if wire == VARINT:
            self._varint(end, path)
        elif wire == LENGTH:
            self._at = self._end_of_span(end, path)
        else:
            self._take(_WIDTHS[wire], end, path)

    def _skip_group(self, number: int, end: int, path: str) -> None:
        """Step over a group to its end; others inside it end before."""
        around = [number]
        while around:
            number, wire = self._tag(end, path)
            if wire == GROUP_END and number == around[-1]:
                around.pop()
                continue
            _check_tag(number, wire, path)
            if wire != GROUP:
                self._skip(wire, end, path)
                continue
            around.append(number)
            if len(around) > MOST_GROUPS:
                raise BadValue(TOO_DEEP, path, f"at most {MOST_GROUPS} levels of groups are read")

    def _tag(self, end: int, path: str) -> tuple[int, int]:
        tag = self._varint(end, path)
        return tag >> 3, tag & 7

    def _expect(self, slot: Slot, wire: int) -> None:
        if wire != slot.field.wire:
            detail = f"wanted {slot.field.kind}, found the wire type {wire}"
            raise BadValue(WRONG_TYPE, slot.item.path, detail)

    def _count(self, slot: Slot) -> None:
        self._items += 1
        self.values += slot.weight
        if self.values > self._most:
            raise BadValue(TOO_MANY, slot.item.path, too_many(self._most))
        if self._items > MOST_ITEMS:
            raise BadValue(OUT_OF_RANGE, slot.item.path, f"over {MOST_ITEMS} items in one record")

    def _end_of_span(self, end: int, path: str) -> int:
        length = self._varint(end, path)
        if length > end - self._at:
            raise BadValue(TRUNCATED, path, "the payload ends inside")
        return self._at + length

    def _take(self, count: int, end: int, path: str) -> bytes:
        if count > end - self._at:
            raise BadValue(TRUNCATED, path, "the payload ends inside")
        start, self._at = self._at, self._at + count
        return self._payload[start : self._at]

    def _varint(self, end: int, path: str) -> int:
        """A number of up to 64 bits without a sign."""
        found, at = 0, self._at
        for place in range(_LONGEST_VARINT):
            if at + place >= end:
                raise BadValue(TRUNCATED, path, "the payload ends inside")
            byte = self._payload[at + place]
            found |= (byte & 127) << (7 * place)
            if byte < 128:
                self._at = at + place + 1
                break
        else:
            raise BadValue(OUT_OF_RANGE, path, "a number in more than ten bytes")
        if found >= 2**64:
            raise BadValue(OUT_OF_RANGE, path, "a number of more than 64 bits")
        return found


def _check_tag(number: int, wire: int, path: str) -> None:
    """Refuse what cannot begin a field."""
    if not 1 <= number <= LAST_NUMBER:
        raise BadValue(OUT_OF_RANGE, path, "no field has such a number")
    if wire not in {VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES, GROUP}:
        raise BadValue(OUT_OF_RANGE, path, f"the wire type {wire} is not read")


def _whole(kind: str, raw: int) -> ColumnValue:
    """What a varint means; its lowest 32 bits, if that is all the field has."""
    if kind == "bool":
        return raw != 0
    bits = 64 if kind.endswith("64") else 32
    raw &= 2**bits - 1
    if kind.startswith("sint"):
        return (raw >> 1) ^ -(raw & 1)
    if kind.startswith("uint"):
        return raw
    return raw - 2**bits if raw >= 2 ** (bits - 1) else raw


def _text(raw: bytes, path: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BadValue(NOT_UTF8, path, f"{error.reason} (byte {error.start})") from None


def _struct(body: MessageBody, seen: Seen) -> dict[str, ColumnValue]:
    """The columns of a message."""
    return {slot.column: _column(slot, seen) for slot in body.slots}


def _column(slot: Slot, seen: Seen) -> ColumnValue:
    found = seen.get(slot.field.number)
    label = slot.field.label
    if label == "repeated":
        return [_value(slot, each) for each in found or ()]
    if label == "map":
        return _entries(slot, found or {})
    if found is not None:
        return _value(slot, found)
    if label == "required":
        raise BadValue(MISSING_FIELD, slot.shape.path, "it is required")
    if label == "explicit":
        return None
    return _value(slot, slot.blank if slot.body is None else {})


def _entries(slot: Slot, found: dict[ColumnValue, ColumnValue]) -> list[ColumnValue]:
    """A map as pairs, or as structs where its keys are not strings."""
    if slot.body is None:
        raise ValueError("a map without entries")
    key, value = slot.body.slots
    pairs = [(_value(key, each), _value(value, inside)) for each, inside in found.items()]
    if slot.shape.type.kind == "map":
        return pairs
    return [{"key": each, "value": inside} for each, inside in pairs]


def _value(slot: Slot, found: ColumnValue) -> ColumnValue:
    """A single value as its column holds it."""
    if slot.names:
        return slot.names.get(found, str(found))
    if slot.item.type.kind == "decimal" and slot.body is None:
        return Decimal(found)
    if slot.body is None:
        return found
    if slot.body.meaning == "struct":
        return _struct(slot.body, found)
    if slot.body.meaning == "wrapper":
        return _column(slot.body.slots[0], found)
    if slot.body.meaning == "empty":
        return True
    seconds, nanos = found.get(1, 0), found.get(2, 0)
    if slot.body.meaning == "timestamp":
        return _moment(seconds, nanos, slot.item.path)
    return _duration(seconds, nanos, slot.item.path)


def _moment(seconds: int, nanos: int, path: str) -> int:
    if not FIRST_SECOND <= seconds <= LAST_SECOND or not 0 <= nanos <= MOST_NANOS:
        raise BadValue(OUT_OF_RANGE, path, "no time of the years 1 to 9999")
    return seconds * 1_000_000 + nanos // 1_000


def _duration(seconds: int, nanos: int, path: str) -> int:
    opposed = (seconds < 0 < nanos) or (nanos < 0 < seconds)
    if opposed or abs(seconds) > MOST_SECONDS or abs(nanos) > MOST_NANOS:
        raise BadValue(OUT_OF_RANGE, path, "no duration of up to 10,000 years")
    whole = abs(seconds) * 1_000_000 + abs(nanos) // 1_000
    return -whole if seconds < 0 or nanos < 0 else whole
