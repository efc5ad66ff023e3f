"""What makes a payload one JSON object, and how a whole batch of them is screened.

`fault_of` is the judge of a single payload. `Screen` finds, for a whole batch and without a call
per record, the few payloads that the judge has to look at before a parser may skip over parts of
them: parsers that skip check neither the encoding nor the depth of what they skip.
"""

import msgspec
import numpy as np
import pyarrow as pa

from penstock.datapath.codec.json.value_text import kind_of
from penstock.datapath.codec.shared.buffers import buffers_of, is_utf8
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.reasons import EMPTY, NOT_UTF8, TOO_DEEP, TOO_LONG
from penstock.datapath.codec.shared.value_types import ParsedRecord

NOT_JSON = "NOT_JSON"
NOT_OBJECT = "NOT_OBJECT"

# What a parser may raise for one payload. `UnicodeDecodeError` is a ValueError.
PARSER_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)

_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"
# How payloads of other kinds begin that are sent as JSON by mistake.
_BEGINNINGS = (
    (b"\x1f\x8b", "it begins like gzip"),
    (b"\x28\xb5\x2f\xfd", "it begins like zstd"),
    (b"\x04\x22\x4d\x18", "it begins like lz4"),
    (b"\x82SNAPPY", "it begins like snappy"),
    (b"\xff\xfe", "it begins like UTF-16"),
    (b"\xfe\xff", "it begins like UTF-16"),
    (b"\x00", "it begins like a record with a schema id"),
)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))
_NOT_MARKS = bytes(set(range(256)) - set(b'[{]}"'))
_WHOLE = msgspec.json.Decoder(msgspec.Raw)
Reason = tuple[str, str]


def without_strings(payload: bytes) -> bytes:
    """What is left of a JSON text when its strings are taken out."""
    if b"\\" in payload:  # first escaped backslashes go, then escaped quotes
        payload = payload.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(payload.split(b'"')[::2])


def depth_of(payload: bytes) -> int:
    """How deep arrays and objects nest, brackets inside strings not counted; linear in time."""
    if b"\\" not in payload:
        payload = payload.translate(None, _NOT_MARKS)
    steps = np.frombuffer(without_strings(payload).translate(_STEPS, _NOT_BRACKETS), np.int8)
    return int(steps.cumsum(dtype=np.int32).max(initial=0))


def is_too_deep(payload: bytes, limits: Limits) -> bool:
    """Whether a payload nests deeper than is read; few brackets answer that by themselves."""
    if payload.count(b"[") + payload.count(b"{") <= limits.max_depth:
        return False
    return depth_of(payload) > limits.max_depth


def too_deep(limits: Limits) -> str:
    """The error message for such a payload."""
    return f"at most {limits.max_depth} levels are read"


def refuse(_payload: bytes) -> ParsedRecord:
    """A parser that leaves every record to the reference."""
    raise ValueError("only the reference reads this")


def fault_of(payload: bytes, limits: Limits) -> Reason | None:
    """Why a payload is not one JSON object, or None when it is: (reason, detail).

    The order is fixed: length, encoding, depth, grammar, kind. The detail never repeats content.
    """
    return unfit(payload, limits) or grammar_fault(payload)


def unfit(payload: bytes, limits: Limits) -> Reason | None:
    """What may not even be handed to a parser that skips."""
    if not payload:
        return EMPTY, "no bytes"
    if len(payload) > limits.max_bytes:
        return TOO_LONG, f"{len(payload)} bytes, at most {limits.max_bytes} are read"
    if not payload.isascii():
        try:
            payload.decode()
        except UnicodeDecodeError as error:
            return NOT_UTF8, _with_hint(f"{error.reason} (byte {error.start})", payload)
    if is_too_deep(payload, limits):
        return TOO_DEEP, too_deep(limits)
    return None


def _with_hint(detail: str, payload: bytes) -> str:
    """The detail, and what the payload may be instead. It has no values of the record."""
    hint = next((what for begin, what in _BEGINNINGS if payload.startswith(begin)), "")
    return f"{detail}; {hint}" if hint else detail


def grammar_fault(payload: bytes) -> Reason | None:
    """What a whole pass of a strict parser finds."""
    if payload.startswith(_BOM):
        return NOT_JSON, "starts with a byte-order mark"
    try:
        _WHOLE.decode(payload)
    except PARSER_ERRORS as error:
        return NOT_JSON, _with_hint(str(error), payload)
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
