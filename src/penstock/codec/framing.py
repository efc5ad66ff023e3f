"""Which schema a record was written with: the few bytes that serializers put before the payload.

    0, then 4 bytes                     the id of the schema, highest byte first
    in Protobuf, then numbers           which message of the schema: how many, then each; a single 0
                                        is the first message
    a header `__value_schema_id`        instead of all that: 1, then 16 bytes that name the schema
                                        in every registry; in Protobuf then the numbers

Records are grouped by these bytes, so that a batch of records with one schema costs one look.
"""

import base64
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from penstock.codec.gather import Numbers, overlapping
from penstock.codec.payload import EMPTY, buffers_of
from penstock.model.headers import first_header
from penstock.model.rows import BadRecord

NOT_FRAMED = "NOT_FRAMED"
SCHEMA_HEADER = "__value_schema_id"

_ID_BYTES = 5
_MOST_NUMBERS = 64
_LONGEST_NUMBER = 5
_FIRST = (0,)


@dataclass(frozen=True, slots=True)
class Frame:
    """What names a schema: its id in digits, or `guid:` and the name; and which message it is.

    `skipped` is how many bytes of the payload are not the format's own.
    """

    key: str
    message: tuple[int, ...]
    skipped: int


@dataclass(frozen=True, slots=True)
class Framed:
    """Records by frame, as their places in the batch, and those that have none."""

    groups: list[tuple[Frame, Numbers]]
    bad: list[BadRecord]


def framed(values: pa.Array, headers: pa.Array | None, with_message: bool) -> Framed:
    """Look at every record. `headers` are JSON texts, null where a record has none."""
    by_header = _by_header(headers, with_message)
    rows = np.setdiff1d(np.arange(len(values)), list(by_header), assume_unique=True)
    groups: dict[Frame, list[Numbers]] = {}
    bad: list[BadRecord] = []
    for row, frame in by_header.items():
        if frame is None:
            bad.append(BadRecord(row, NOT_FRAMED, f"the header {SCHEMA_HEADER} names no schema"))
        else:
            groups.setdefault(frame, []).append(np.array([row]))
    for found, members in _by_prefix(values, rows.astype(np.int64), with_message):
        if isinstance(found, Frame):
            groups.setdefault(found, []).append(members)
        else:
            bad += [BadRecord(row, *found) for row in members.tolist()]
    joined = [(frame, np.sort(np.concatenate(parts))) for frame, parts in groups.items()]
    return Framed(joined, sorted(bad, key=lambda record: record.index))


def _by_prefix(
    values: pa.Array, rows: Numbers, with_message: bool
) -> Iterator[tuple[Frame | tuple[str, str], Numbers]]:
    """Groups of records by their first bytes: a frame, or why there is none."""
    data, offsets = buffers_of(values)
    data = np.concatenate((data, np.zeros(8, np.uint8)))
    start, size = offsets[rows], (offsets[1:] - offsets[:-1])[rows]
    empty = size == 0
    yield (EMPTY, "no bytes"), rows[empty]
    short = (size < _ID_BYTES + with_message) & ~empty
    other = (data[start] != 0) & ~short & ~empty
    yield (NOT_FRAMED, "too short for the id of a schema"), rows[short]
    yield (NOT_FRAMED, "does not begin with the id of a schema"), rows[other]
    good = ~(empty | short | other)
    rows, start = rows[good], start[good]
    ids = overlapping(data, ">u4")[start + 1].astype(np.int64)
    if with_message:
        yield from _by_message(values, rows, ids, data[start + _ID_BYTES])
        return
    for number, members in _grouped(ids, rows):
        yield Frame(str(number), (), _ID_BYTES), members


def _by_message(
    values: pa.Array, rows: Numbers, ids: Numbers, first: Numbers
) -> Iterator[tuple[Frame | tuple[str, str], Numbers]]:
    """The same for Protobuf: nearly always a zero follows, and nearly never anything longer."""
    usual = first == 0
    for number, members in _grouped(ids[usual], rows[usual]):
        yield Frame(str(number), _FIRST, _ID_BYTES + 1), members
    for row, number in zip(rows[~usual].tolist(), ids[~usual].tolist(), strict=True):
        found = _message(values[row].as_py()[_ID_BYTES:])
        if found is None:
            yield (NOT_FRAMED, "does not say which message of its schema it is"), np.array([row])
        else:
            message, size = found
            yield Frame(str(number), message, _ID_BYTES + size), np.array([row])


def _grouped(keys: Numbers, rows: Numbers) -> Iterator[tuple[int, Numbers]]:
    order = np.argsort(keys, kind="stable")
    keys, rows = keys[order], rows[order]
    ends = [*(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)]
    for start, end in pairwise([0, *ends] if len(keys) else []):
        yield int(keys[start]), rows[start:end]


def _message(data: bytes) -> tuple[tuple[int, ...], int] | None:
    """The numbers of a message, and how many bytes they take."""
    count, at = _zigzag(data, 0)
    if count == 0:
        return _FIRST, at
    if count < 0 or count > _MOST_NUMBERS:
        return None
    numbers = []
    for _ in range(count):
        number, at = _zigzag(data, at)
        if number < 0:
            return None
        numbers.append(number)
    return tuple(numbers), at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    """A number and where the next one begins; -1 when it is cut short."""
    value = 0
    for place in range(_LONGEST_NUMBER):
        if at + place >= len(data):
            return -1, at
        byte = data[at + place]
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return (value >> 1) ^ -(value & 1), at + place + 1
    return -1, at


def _by_header(headers: pa.Array | None, with_message: bool) -> dict[int, Frame | None]:
    """The records whose headers name their schema; None where they name none that can be."""
    found: dict[int, Frame | None] = {}
    if headers is None or headers.null_count == len(headers):
        return found
    seen: dict[str, Frame | None] = {}
    for row, text in enumerate(headers.to_pylist()):
        if text is None or SCHEMA_HEADER not in text:
            continue
        named = first_header(text, SCHEMA_HEADER)
        if named is None:
            continue
        value = named.value
        if value is not None and value not in seen:
            seen[value] = _frame_of(value, with_message)
        found[row] = None if value is None else seen[value]
    return found


def _frame_of(value: str, with_message: bool) -> Frame | None:
    """A frame from a header's value, which is in base64."""
    try:
        raw = base64.b64decode(value, validate=True)
    except ValueError:
        return None
    if len(raw) < 17 or raw[0] != 1:
        return None
    message = _message(raw[17:]) if with_message else ((), 0)
    if message is None or len(raw) != 17 + message[1]:
        return None
    return Frame(f"guid:{uuid.UUID(bytes=raw[1:17])}", message[0], 0)
