"""What makes a payload one JSON object, and how a whole batch of them is screened.

`fault_of` is the judge of a single payload. `Screen` finds, for a whole batch and without a call
per record, the few payloads that the judge has to look at before a parser may skip over parts of
them: parsers that skip check neither the encoding nor the depth of what they skip.
"""

import re
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.datapath.codec.json.value_text import kind_of

EMPTY = "EMPTY"
TOO_LONG = "TOO_LONG"
TOO_DEEP = "TOO_DEEP"
NOT_UTF8 = "NOT_UTF8"
NOT_JSON = "NOT_JSON"
NOT_OBJECT = "NOT_OBJECT"

# What a parser may raise for one payload. `UnicodeDecodeError` is a ValueError.
PARSER_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)

_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))
_WHOLE = msgspec.json.Decoder(msgspec.Raw)
Reason = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how deep a payload may be. An object without nested ones has depth 1.

    `max_values` is how many values its lists may become, where their items are objects.
    """

    max_bytes: int = 16 * 1024 * 1024
    max_depth: int = 64
    max_values: int = 4 * 1024 * 1024


def without_strings(payload: bytes) -> bytes:
    """What is left of a JSON text when its strings are taken out."""
    return payload if b'"' not in payload else _STRINGS.sub(b"", payload)


def depth_of(payload: bytes) -> int:
    """How deep arrays and objects nest, brackets inside strings not counted; linear in time."""
    steps = np.frombuffer(without_strings(payload).translate(_STEPS, _NOT_BRACKETS), np.int8)
    return int(steps.cumsum(dtype=np.int32).max(initial=0))


def is_too_deep(payload: bytes, limits: Limits) -> bool:
    """Whether a payload nests deeper than is read; few brackets answer that by themselves."""
    if payload.count(b"[") + payload.count(b"{") <= limits.max_depth:
        return False
    return depth_of(payload) > limits.max_depth


def too_deep(limits: Limits) -> str:
    """What is told of such a payload."""
    return f"at most {limits.max_depth} levels are read"


def refuse(_payload: bytes) -> Any:
    """A parser that leaves every record to the reference."""
    raise ValueError("only the reference reads this")


def fault_of(payload: bytes, limits: Limits) -> Reason | None:
    """Why a payload is not one JSON object, or None when it is: (reason, detail).

    The order is fixed: length, encoding, depth, grammar, kind. The detail never repeats content.
    """
    return _unfit(payload, limits) or _ungrammatical(payload)


def _unfit(payload: bytes, limits: Limits) -> Reason | None:
    """What may not even be handed to a parser that skips."""
    if not payload:
        return EMPTY, "no bytes"
    if len(payload) > limits.max_bytes:
        return TOO_LONG, f"{len(payload)} bytes, at most {limits.max_bytes} are read"
    if not payload.isascii():
        try:
            payload.decode()
        except UnicodeDecodeError as error:
            return NOT_UTF8, f"{error.reason} (byte {error.start})"
    if is_too_deep(payload, limits):
        return TOO_DEEP, too_deep(limits)
    return None


def _ungrammatical(payload: bytes) -> Reason | None:
    """What a whole pass of a strict parser finds."""
    if payload.startswith(_BOM):
        return NOT_JSON, "starts with a byte-order mark"
    try:
        _WHOLE.decode(payload)
    except PARSER_ERRORS as error:
        return NOT_JSON, str(error)
    kind = kind_of(payload.lstrip(_SPACE))
    return None if kind == "object" else (NOT_OBJECT, f"found {kind}")


class Screen:
    """Finds the payloads of a batch that need a judge before a skipping parser sees them."""

    def __init__(self, values: pa.Array, limits: Limits) -> None:
        self._values = values
        self._limits = limits
        self._data, self._offsets = buffers_of(values)
        self._lengths = np.diff(self._offsets)

    def suspects(self) -> set[int]:
        """Indices that may be too long, too deep or not UTF-8; all others are none of these."""
        if len(self._values) == 0:
            return set()
        found = self.too_long()
        found += self._with_many_brackets()
        found += self._not_utf8()
        return set(found)

    def too_long(self) -> list[int]:
        """Payloads that are longer than the limit."""
        return np.flatnonzero(self._lengths > self._limits.max_bytes).tolist()

    def _with_many_brackets(self) -> list[int]:
        """Payloads with more opening brackets than the depth allows.

        When `max_depth + 1` neighbouring brackets always span more bytes than the longest payload
        has, no payload holds that many, and nothing needs to be counted payload by payload.
        """
        wanted, longest = self._limits.max_depth, int(self._lengths.max())
        if longest <= wanted:
            return []
        opening = np.flatnonzero((self._data | np.uint8(0x20)) == np.uint8(0x7B))
        spans = opening[wanted:] - opening[:-wanted]
        if not bool((spans < longest).any()):
            return []
        counts = np.diff(np.searchsorted(opening, self._offsets))
        return np.flatnonzero(counts > wanted).tolist()

    def _not_utf8(self) -> list[int]:
        """Payloads that are not UTF-8; each is looked at alone only when the batch fails."""
        try:
            self._values.cast(pa.large_string())
        except pa.ArrowInvalid:
            payloads = self._values.to_pylist()
            return [index for index, payload in enumerate(payloads) if not is_utf8(payload)]
        return []


def is_utf8(payload: bytes) -> bool:
    """True when the bytes are a text."""
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True


def buffers_of(values: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The bytes of all payloads end to end, and where each begins; the last entry is the end."""
    if len(values) == 0:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = values.buffers()
    width = np.int64 if pa.types.is_large_binary(values.type) else np.int32
    ends = np.frombuffer(offsets, width)[values.offset : values.offset + len(values) + 1]
    start, stop = int(ends[0]), int(ends[-1])
    joined = np.frombuffer(data, np.uint8)[start:stop] if stop > start else np.empty(0, np.uint8)
    return joined, ends.astype(np.int64) - start


def as_payloads(values: pa.Array) -> pa.Array:
    """The array as binary or large_binary without nulls; anything else is a caller's mistake."""
    if values.null_count:
        raise ValueError("a codec is given values only; records without one are handled before")
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return values
    return values.cast(pa.large_binary())
