"""Which schema a record was written with: the few bytes that serializers put before the payload.

    0, then 4 bytes                     the id of the schema, highest byte first
    1, then 16 bytes                    instead: what names the schema in every registry
    in Protobuf, then numbers           which message of the schema: how many, then each; a single 0
                                        is the first message
    a header `__value_schema_id`        the same bytes, instead of before the payload; one that is
                                        null says nothing

Records are grouped by these bytes, so that a batch of records with one schema costs one look.
"""

import base64
import uuid
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from penstock.api.codec import Frame, FramedRecords
from penstock.datapath.codec.shared.buffers import buffers_of
from penstock.datapath.codec.shared.byte_gather import Numbers, overlapping
from penstock.datapath.codec.shared.reasons import EMPTY
from penstock.model.bad_records import BadRecord
from penstock.model.headers import first_header

NOT_FRAMED = "NOT_FRAMED"
SCHEMA_HEADER = "__value_schema_id"

_ID_BYTES = 5
_GUID_BYTES = 17
_MOST_NUMBERS = 64
_LONGEST_NUMBER = 5
_FIRST = (0,)
_NO_MESSAGE = (NOT_FRAMED, "does not say which message of its schema it is")


def frames_of(values: pa.Array, headers: pa.Array | None, with_message: bool) -> FramedRecords:
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
    return FramedRecords(joined, sorted(bad, key=lambda record: record.index))


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
    named = (data[start] == 1) & (size >= _GUID_BYTES + with_message)
    other = (data[start] != 0) & ~short & ~empty & ~named
    yield (NOT_FRAMED, "too short for the id of a schema"), rows[short]
    yield (NOT_FRAMED, "does not begin with the id of a schema"), rows[other]
    if named.any():
        yield from _by_guid(values, rows[named], with_message)
    good = ~(empty | short | other | named)
    rows, start = rows[good], start[good]
    ids = overlapping(data, ">u4")[start + 1].astype(np.int64)
    if with_message:
        yield from _by_message(values, rows, ids, data[start + _ID_BYTES])
        return
    for number, members in _grouped(ids, rows):
        yield Frame(str(number), (), _ID_BYTES), members


def _by_guid(
    values: pa.Array, rows: Numbers, with_message: bool
) -> Iterator[tuple[Frame | tuple[str, str], Numbers]]:
    """Groups of records that begin with what names a schema in every registry, one by one."""
    found: dict[Frame | tuple[str, str], list[int]] = {}
    for row in rows.tolist():
        raw = values[row].as_py()
        message = _message(raw[_GUID_BYTES:]) if with_message else ((), 0)
        key: Frame | tuple[str, str] = _NO_MESSAGE
        if message is not None:
            key = Frame(_guid(raw), message[0], _GUID_BYTES + message[1])
        found.setdefault(key, []).append(row)
    for key, members in found.items():
        yield key, np.array(members, np.int64)


def _guid(raw: bytes) -> str:
    return f"guid:{uuid.UUID(bytes=raw[1:_GUID_BYTES])}"


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
            yield _NO_MESSAGE, np.array([row])
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
        if named is None or named.value is None:
            continue
        if named.value not in seen:
            seen[named.value] = _frame_of(named.value, with_message)
        found[row] = seen[named.value]
    return found


def _frame_of(value: str, with_message: bool) -> Frame | None:
    """A frame from a header's value, which is in base64."""
    try:
        raw = base64.b64decode(value, validate=True)
    except ValueError:
        return None
    if raw[:1] == b"\0" and len(raw) >= _ID_BYTES:
        key, size = str(int.from_bytes(raw[1:_ID_BYTES], "big")), _ID_BYTES
    elif raw[:1] == b"\1" and len(raw) >= _GUID_BYTES:
        key, size = _guid(raw), _GUID_BYTES
    else:
        return None
    message = _message(raw[size:]) if with_message else ((), 0)
    if message is None or len(raw) != size + message[1]:
        return None
    return Frame(key, message[0], 0)
