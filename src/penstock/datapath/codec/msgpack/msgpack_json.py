"""MessagePack as the JSON that says the same; from there on it is read like JSON.

what a payload holds                          its fate
------------------------------------------    ------------------------------------------------
truncated, trailing bytes, two objects        bad: NOT_MSGPACK
texts that are not UTF-8                      bad: NOT_MSGPACK
nothing                                       bad: EMPTY
more than 16 MiB, more than 64 levels         bad: TOO_LONG, TOO_DEEP; its JSON may be longer
anything but a map at the top                 bad: NOT_OBJECT, as in JSON
NaN and infinity                              bad: NOT_FINITE, since JSON has neither
bytes                                         a text in base64
a timestamp of MessagePack's own              a text such as 2026-11-15T07:05:00Z, in
                                                microseconds; what is finer is cut off towards
                                                the past
any other extension                           bad: NOT_MSGPACK
a map with keys that are not texts            numbers, bytes and timestamps become their text;
                                                others, also true and false: NOT_MSGPACK
one key twice in a map                        the last one wins, as in JSON; 1 and 1.0 are one
whole numbers up to 64 bits, with or          themselves; what int64 cannot hold is treated as
  without a sign                                in JSON
"""

import math

import msgspec
import pyarrow as pa

from penstock.api.codec import JsonDocuments
from penstock.datapath.codec.json.payload import PARSER_ERRORS, is_too_deep, too_deep
from penstock.datapath.codec.msgpack.tokens import has_boolean_key, with_whole_micros
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.reasons import EMPTY, TOO_DEEP, TOO_LONG
from penstock.model.bad_records import BadRecord

NOT_MSGPACK = "NOT_MSGPACK"
NOT_FINITE = "NOT_FINITE"

# Only behind these bytes can a number be NaN or infinite: a double or a float with all bits of its
# exponent set.
_LIKE_BOOLEANS = (b'"1":', b'"0":', b'"1.0":', b'"0.0":', b'"-0.0":')
_SUSPECT = (b"\xcb\x7f", b"\xcb\xff", b"\xca\x7f", b"\xca\xff")
_LIMITS = Limits()
_decode = msgspec.msgpack.Decoder().decode
_encode = msgspec.json.Encoder().encode


def as_json(values: pa.Array, limits: Limits = _LIMITS) -> JsonDocuments:
    """The JSON of every payload; a bad one never affects its neighbours."""
    texts: list[bytes] = []
    bad: list[BadRecord] = []
    for row, payload in enumerate(values.to_pylist()):
        try:
            texts.append(_one(payload, limits))
        except _Wrong as wrong:
            bad.append(BadRecord(row, wrong.reason, wrong.detail))
            texts.append(b"")
    return JsonDocuments(pa.array(texts, pa.binary()), bad)


class _Wrong(Exception):
    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


def _one(payload: bytes, limits: Limits) -> bytes:
    if not payload:
        raise _Wrong(EMPTY, "no bytes")
    if len(payload) > limits.max_bytes:
        raise _Wrong(TOO_LONG, f"{len(payload)} bytes, at most {limits.max_bytes} are read")
    payload = with_whole_micros(payload)
    try:
        found = _decode(payload)
        text = _encode(found)
    except RecursionError:
        raise _Wrong(TOO_DEEP, too_deep(limits)) from None
    except (*PARSER_ERRORS, TypeError, OverflowError) as error:
        raise _Wrong(NOT_MSGPACK, str(error)) from None
    if is_too_deep(text, limits):
        raise _Wrong(TOO_DEEP, too_deep(limits))
    if _may_have_merged(payload, text) and has_boolean_key(payload):
        raise _Wrong(NOT_MSGPACK, "true or false is a key")
    if any(sign in payload for sign in _SUSPECT) and not _is_finite(found):
        raise _Wrong(NOT_FINITE, "a number that is infinite, or none")
    return text


def _may_have_merged(payload: bytes, text: bytes) -> bool:
    """Whether a key may be gone that is true or false: Python takes them for 1 and 0."""
    if b"\xc3" not in payload and b"\xc2" not in payload:
        return False
    return any(key in text for key in _LIKE_BOOLEANS)


def _is_finite(value: object) -> bool:
    """Look at every number, level by level: no stack grows with what a record holds."""
    level = [value]
    while level:
        below: list[object] = []
        for each in level:
            if isinstance(each, float) and not math.isfinite(each):
                return False
            if isinstance(each, dict):
                below += (*each, *each.values())
            elif isinstance(each, list | tuple):
                below += each
        level = below
    return True
