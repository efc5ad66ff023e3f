"""A codec for texts such as `user=ann;amount=7`: pairs that become the fields of a JSON object.

A value of digits is a number, any other a text. Of a name that occurs twice, the last value counts.
"""

import re

import msgspec
import pyarrow as pa

from penstock.api.codec import BadRecord, Codec, JsonDocuments, JsonRecords

MOST_BYTES = 16 << 20
NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})", re.ASCII)
_encode = msgspec.json.Encoder().encode


def convert(payloads: pa.Array) -> JsonDocuments:
    """The JSON of each payload; a bad one is bad alone."""
    texts: list[bytes] = []
    bad: list[BadRecord] = []
    for row, payload in enumerate(payloads.to_pylist()):
        try:
            texts.append(_encode(_fields(payload)))
        except ValueError as error:
            texts.append(b"")
            bad.append(BadRecord(row, "NOT_PAIRS", str(error)))
    return JsonDocuments(pa.array(texts, pa.binary()), bad)


def _fields(payload: bytes) -> dict[str, str | int]:
    if len(payload) > MOST_BYTES:
        raise ValueError("too long")
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    found: dict[str, str | int] = {}
    for pair in text.split(";"):
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise ValueError("a pair without a name or a value")
        found[name] = int(value) if NUMBER.fullmatch(value) else value
    return found


# No byte becomes more than six, which a control character does; braces and quotes fit into that.
CODEC = Codec("pairs", json=JsonRecords(convert, growth=8))
