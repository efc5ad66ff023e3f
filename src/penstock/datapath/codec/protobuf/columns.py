"""Protobuf records to columns, all records of one message at a time.

A message is compiled once into a step per field, in the order of the fields' numbers, which is
the order in which nearly all writers write them. A step looks at the cursors of all records
(`shared.cursors`) whether its field comes next, and reads it where it does. Unknown fields behind
all others are stepped over. A record that is not used up then is refused: it is broken, or it has
unknown fields in between, another order, one field twice, or packed numbers that its schema does
not call packed. The slow way reads all that Protobuf allows, and says what is wrong with the rest.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.protobuf.message_layout import MessageBody, MessageLayout, Slot
from penstock.datapath.codec.protobuf.reference import (
    FIRST_SECOND,
    LAST_SECOND,
    MOST_ITEMS,
    MOST_NANOS,
    MOST_SECONDS,
)
from penstock.datapath.codec.protobuf.tags import (
    WIDTHS,
    Tag,
    length_ranges,
    skip_unknown,
    skip_value,
    tag_of,
)
from penstock.datapath.codec.protobuf.types import LENGTH, VARINT
from penstock.datapath.codec.protobuf.values import NUMBERS, finishing, with_nulls
from penstock.datapath.codec.shared.byte_gather import Mask, Numbers, Octets, Words, slices, texts
from penstock.datapath.codec.shared.cursors import Cursors, cursors_of

# Reads a field wherever it comes next: its column, and where it was.
FieldReader = Callable[[Cursors], tuple[pa.Array, Mask]]
# Reads one value at every cursor, which ends where the value does.
ValueReader = Callable[[Cursors], pa.Array]

_MOST_AT_ONCE = 1024 * 1024  # values with a cursor each, which take about 100 bytes of memory
_MOST_ROUNDS = 256  # one for each item that is not packed


def read_columns(
    values: pa.Array, layout: MessageLayout, body: MessageBody, skipped: int
) -> tuple[pa.RecordBatch, Mask]:
    """The records that could be read, in their order, and a mask of those that are refused.

    `body` is one of the layout's, which differ in the order of fields that they expect. The first
    bytes of every payload, as many as `skipped`, are not Protobuf's.
    """
    cursors = cursors_of(values, skipped)
    # No item takes less than a byte, so that this bounds their number as the slow way does.
    cursors.refuse(cursors.end - cursors.at > MOST_ITEMS)
    arrays = _plan(body)(cursors)
    cursors.refuse(cursors.at != cursors.end)
    batch = pa.RecordBatch.from_arrays(arrays, schema=layout.schema)
    if cursors.bad.any():
        batch = batch.filter(pa.array(~cursors.bad))
    return batch, cursors.bad


@lru_cache(maxsize=512)
def _plan(body: MessageBody) -> Callable[[Cursors], list[pa.Array]]:
    return _fields(body)


def _fields(body: MessageBody) -> Callable[[Cursors], list[pa.Array]]:
    """All fields of a message, in the order of its columns."""
    columns = [_column(slot) for slot in body.slots]
    order = sorted(
        range(len(columns)),
        key=lambda place: (body.slots[place].rank, body.slots[place].field.number),
    )
    known = np.array(sorted(body.by_number), np.int64)
    oneofs: dict[str, list[int]] = {}
    for place, slot in enumerate(body.slots):
        if slot.field.oneof:
            oneofs.setdefault(slot.field.oneof, []).append(place)
    rivals = [places for places in oneofs.values() if len(places) > 1]

    def read(cursors: Cursors) -> list[pa.Array]:
        found = {place: columns[place](cursors) for place in order}
        skip_unknown(cursors, known)
        for places in rivals:
            cursors.refuse(np.sum([found[place][1] for place in places], axis=0) > 1)
        return [found[place][0] for place in range(len(columns))]

    return read


def _column(slot: Slot) -> FieldReader:
    """How to read a field wherever it comes next."""
    if slot.field.label == "map":
        return _map(slot)
    if slot.field.label == "repeated":
        return _list(slot)
    if slot.body is not None:
        return _message(slot)
    if slot.field.wire == LENGTH:
        return _piece(slot)
    return _number(slot)


def _next(slot: Slot, tag: Tag, cursors: Cursors) -> Mask:
    """Where a field comes next; a record without one that it needs is refused."""
    present = tag.found(cursors)
    if slot.field.label == "required":
        cursors.refuse(~present)
    return present


def _nulls(slot: Slot, present: Mask) -> Mask | None:
    """Where a column has a value, unless it always has one."""
    return None if slot.field.label != "explicit" or present.all() else present


def _number(slot: Slot) -> FieldReader:
    tag, read = tag_of(slot.field.number, slot.field.wire), _numbers(slot)
    finish = finishing(slot)

    def column(cursors: Cursors) -> tuple[pa.Array, Mask]:
        present = _next(slot, tag, cursors)
        return finish(read(cursors, present), cursors, _nulls(slot, present)), present

    return column


def _numbers(slot: Slot) -> Callable[[Cursors, Mask], Words]:
    """Numbers where there is one, and the default elsewhere."""
    kind, blank = NUMBERS[slot.field.kind], slot.blank

    def read(cursors: Cursors, present: Mask) -> Words:
        if present.all():
            return kind.read(cursors)
        found = np.full(len(cursors), blank, kind.type)
        mine = np.flatnonzero(present)
        if len(mine):
            some = cursors.some(mine)
            found[mine] = kind.read(some)
            cursors.put(mine, some)
        return found

    return read


def _piece(slot: Slot) -> FieldReader:
    """A string or bytes."""
    tag, read_value = tag_of(slot.field.number, LENGTH), _pieces(slot)

    def column(cursors: Cursors) -> tuple[pa.Array, Mask]:
        present = _next(slot, tag, cursors)
        found = read_value(cursors, *length_ranges(cursors, present))
        return with_nulls(found, _nulls(slot, present)), present

    return column


def _pieces(slot: Slot) -> Callable[[Cursors, Numbers, Numbers], pa.Array]:
    """Parts of the data; a string that is not UTF-8 refuses its record."""
    if slot.field.kind == "bytes":
        return lambda cursors, start, end: slices(cursors.data, start, end)

    def read(cursors: Cursors, start: Numbers, end: Numbers) -> pa.Array:
        found, wrong = texts(cursors.data, start, end)
        if wrong is not None:
            cursors.refuse(wrong)
        return found

    return read


def _message(slot: Slot) -> FieldReader:
    """A message inside; null where there is none, or as if it were empty in an entry of a map."""
    tag, read_value = tag_of(slot.field.number, LENGTH), _item(slot)

    def column(cursors: Cursors) -> tuple[pa.Array, Mask]:
        present = _next(slot, tag, cursors)
        start, end = length_ranges(cursors, present)
        nulls = _nulls(slot, present)
        if nulls is None:
            return _inside(cursors, read_value, np.arange(len(cursors)), start, end), present
        mine = np.flatnonzero(nulls)
        if len(mine) == 0:
            return pa.nulls(len(cursors), slot.shape.arrow), present
        found = _inside(cursors, read_value, mine, start[mine], end[mine])
        places = np.zeros(len(cursors), np.int32)
        places[mine] = np.arange(len(mine))
        return found.take(pa.array(places, mask=~nulls)), present

    return column


def _inside(
    cursors: Cursors, read_value: ValueReader, owner: Numbers, start: Numbers, end: Numbers
) -> pa.Array:
    """Read values with cursors of their own, each of which must be used up.

    `owner` says in which record each value lies; what is refused of it refuses all of it.
    """
    if len(start) > _MOST_AT_ONCE:
        cuts = range(_MOST_AT_ONCE, len(start), _MOST_AT_ONCE)
        parts = zip(*(np.split(each, cuts) for each in (owner, start, end)), strict=True)
        return pa.concat_arrays([_inside(cursors, read_value, *part) for part in parts])
    inner = Cursors(cursors.data, start, end.copy(), np.zeros(len(start), bool))
    found = read_value(inner)
    inner.refuse(inner.at != inner.end)
    if inner.bad.any():
        wrong = np.zeros(len(cursors), bool)
        wrong[owner[inner.bad]] = True
        cursors.refuse(wrong)
    return found


def _item(slot: Slot) -> ValueReader:
    """A single value that ends where its cursor does."""
    if slot.body is None and slot.field.wire == LENGTH:
        read = _pieces(slot)

        def piece(cursors: Cursors) -> pa.Array:
            start, cursors.at = cursors.at, cursors.end.copy()
            return read(cursors, start, cursors.end)

        return piece
    if slot.body is None:
        kind, finish = NUMBERS[slot.field.kind], finishing(slot)
        return lambda cursors: finish(kind.read(cursors), cursors, None)
    if slot.body.meaning == "wrapper":
        wrapped = _column(slot.body.slots[0])
        return lambda cursors: wrapped(cursors)[0]
    if slot.body.meaning == "empty":
        return lambda cursors: pa.array(np.ones(len(cursors), bool))
    if slot.body.meaning in {"timestamp", "duration"}:
        return _time(slot, slot.body)
    fields, names = _fields(slot.body), [each.column for each in slot.body.slots]
    return lambda cursors: pa.StructArray.from_arrays(fields(cursors), names)


def _time(slot: Slot, body: MessageBody) -> ValueReader:
    """Seconds and nanoseconds, as microseconds."""
    parts = [(tag_of(number, VARINT), _numbers(body.by_number[number])) for number in (1, 2)]
    is_moment = body.meaning == "timestamp"
    first, last = (FIRST_SECOND, LAST_SECOND) if is_moment else (-MOST_SECONDS, MOST_SECONDS)

    def read_value(cursors: Cursors) -> pa.Array:
        seconds, nanos = (read(cursors, tag.found(cursors)) for tag, read in parts)
        opposed = (
            nanos < 0
            if is_moment
            else ((seconds < 0) & (nanos > 0)) | ((seconds > 0) & (nanos < 0))
        )
        cursors.refuse(
            (seconds < first) | (seconds > last) | (np.abs(nanos) > MOST_NANOS) | opposed
        )
        seconds, nanos = np.where(cursors.bad, 0, seconds), np.where(cursors.bad, 0, nanos)
        micros = seconds * 1_000_000 + np.sign(nanos) * (np.abs(nanos) // 1_000)
        return pa.array(micros).view(slot.item.arrow)

    return read_value


def _list(slot: Slot) -> FieldReader:
    """Items one after the other, each with its tag, or packed behind a single one."""
    find, read_value = _packed(slot) if slot.field.packed else _unpacked(slot), _item(slot)

    def column(cursors: Cursors) -> tuple[pa.Array, Mask]:
        owner, start, end = find(cursors)
        items = _inside(cursors, read_value, owner, start, end)
        starts = _offsets(owner, len(cursors))
        found = pa.ListArray.from_arrays(starts, items, type=slot.shape.arrow)
        return found, np.zeros(len(cursors), bool)

    return column


def _map(slot: Slot) -> FieldReader:
    """Entries, each a message of a key and a value; one key twice is left to the slow way."""
    if slot.body is None:
        raise ValueError("a map without entries")
    find, fields = _unpacked(slot), _fields(slot.body)
    names = ["key", "value"]

    def read_value(cursors: Cursors) -> pa.Array:
        return pa.StructArray.from_arrays(fields(cursors), names)

    def column(cursors: Cursors) -> tuple[pa.Array, Mask]:
        owner, start, end = find(cursors)
        items = _inside(cursors, read_value, owner, start, end)
        keys, values = items.flatten()
        _refuse_twice(cursors, owner, keys)
        starts = _offsets(owner, len(cursors))
        if slot.shape.type.kind == "map":
            found = pa.MapArray.from_arrays(starts, keys, values, type=slot.shape.arrow)
        else:
            found = pa.ListArray.from_arrays(starts, items, type=slot.shape.arrow)
        return found, np.zeros(len(cursors), bool)

    return column


def _offsets(owner: Numbers, count: int) -> pa.Array:
    """Where the items of each record begin; `owner` is in order."""
    starts = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(owner, minlength=count), out=starts[1:])
    return pa.array(starts)


def _refuse_twice(cursors: Cursors, owner: Numbers, keys: pa.Array) -> None:
    """Refuse records that have one key twice in a map."""
    if len(owner) < 2:
        return
    codes = keys.dictionary_encode().indices.to_numpy().astype(np.int64)
    pairs = owner * len(owner) + codes
    order = np.argsort(pairs, kind="stable")
    twice = pairs[order[1:]] == pairs[order[:-1]]
    wrong = np.zeros(len(cursors), bool)
    wrong[owner[order[1:][twice]]] = True
    cursors.refuse(wrong)


ItemFinder = Callable[[Cursors], tuple[Numbers, Numbers, Numbers]]


def _unpacked(slot: Slot) -> ItemFinder:
    """Where the items are that have a tag each: in which record, from where, to where.

    A round steps over one item of every record that has one more.
    """
    tag, wire = tag_of(slot.field.number, slot.field.wire), slot.field.wire

    def find(cursors: Cursors) -> tuple[Numbers, Numbers, Numbers]:
        found: list[tuple[Numbers, Numbers, Numbers]] = []
        mine, some = np.arange(len(cursors)), cursors.some(np.arange(len(cursors)))
        for _ in range(_MOST_ROUNDS):
            present = tag.found(some)
            cursors.put(mine, some)
            if not present.all():
                more = np.flatnonzero(present)
                mine, some = mine[more], some.some(more)
            if len(mine) == 0:
                break
            found.append((mine, *skip_value(some, wire)))
        else:
            cursors.put(mine, some)
            wrong = np.zeros(len(cursors), bool)
            wrong[mine] = True
            cursors.refuse(wrong)
        owner, start, end = (
            np.concatenate([np.empty(0, np.int64), *(each[part] for each in found)])
            for part in range(3)
        )
        order = np.argsort(owner, kind="stable")
        return owner[order], start[order], end[order]

    return find


def _packed(slot: Slot) -> ItemFinder:
    """Where the items are that follow each other behind one tag and a length."""
    tag, width = tag_of(slot.field.number, LENGTH), WIDTHS.get(slot.field.wire, 0)

    def find(cursors: Cursors) -> tuple[Numbers, Numbers, Numbers]:
        start, end = length_ranges(cursors, tag.found(cursors))
        if width:
            cursors.refuse((end - start) % width != 0)
            return _in_rows(start, np.where(cursors.bad, start, end), width)
        cursors.refuse((end > start) & (cursors.data[np.maximum(end - 1, 0)] >= 128))
        return _varints_in(cursors.data, start, np.where(cursors.bad, start, end))

    return find


def _in_rows(start: Numbers, end: Numbers, width: int) -> tuple[Numbers, Numbers, Numbers]:
    """Cut spans into pieces of one width."""
    counts = (end - start) // width
    owner = np.repeat(np.arange(len(start)), counts)
    before = np.cumsum(counts) - counts
    first = (start - before * width)[owner] + np.arange(len(owner)) * width
    return owner, first, first + width


def _varints_in(data: Octets, start: Numbers, end: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Cut spans into varints; each span must end with the last byte of one."""
    ends = np.cumsum(end - start)  # in the bytes of all spans end to end
    total = int(ends[-1]) if len(ends) else 0
    if total == 0:
        return _in_rows(start, start, 1)
    joined = np.frombuffer(slices(data, start, end).buffers()[2], np.uint8)[:total]
    last = np.flatnonzero(joined < 128)
    owner = np.repeat(np.arange(len(start)), np.diff(np.searchsorted(last, ends), prepend=0))
    shift = (end - ends)[owner]
    first = np.concatenate((np.zeros(1, np.int64), last[:-1] + 1))
    return owner, first + shift, last + 1 + shift
