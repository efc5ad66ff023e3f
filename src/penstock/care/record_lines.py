"""Quarantined records as lines of JSON that a person can edit, and back.

Bytes that are UTF-8 are a text; others are `{"base64": "..."}`. Headers are a list of names and
values. Of a line that comes back, `position` says which record is meant (with `row`, `topic_id` and
`dataset` where there is a choice), and `key`, `headers` and `value` are what it is to hold; without
`key` or `headers` these stay as they are. What is wrong with the record is only for the reader.
"""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.model.headers import Header, read_headers


class Base64(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes that are not UTF-8."""

    base64: str


Text = str | Base64 | None


class HeaderLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One header."""

    key: str | None = None
    value: Text = None


class RecordLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One line of the file, in the order in which it is written."""

    position: str
    row: int = 0
    topic_id: str | None = None
    dataset: str | None = None
    reason: str = ""
    detail: str = ""
    fingerprint: str = ""
    timestamp: str = ""
    key: Text | msgspec.UnsetType = msgspec.UNSET
    headers: list[HeaderLine] | msgspec.UnsetType | None = msgspec.UNSET
    value: Text


@dataclass(frozen=True, slots=True)
class Contents:
    """The key, the headers as JSON with values in base64, and the value of a record."""

    key: bytes | None
    headers: str | None
    value: bytes | None


class LineRefused(ValueError):
    """A line that cannot be used; the text says why, without the value.

    `subject` is what the text is about, such as a position: lines with the same cause are told
    together.
    """

    def __init__(self, cause: str, subject: str = "") -> None:
        super().__init__(f"{subject} {cause}" if subject else cause)
        self.cause = cause


_decoder = msgspec.json.Decoder(RecordLine)
_encoder = msgspec.json.Encoder()


def encode_line(row: dict[str, Any], topic_id: str) -> bytes:  # Any: a row of the quarantine
    """A row of the quarantine as a line, with its line end."""
    headers = None
    if row["headers"] is not None:
        found = read_headers(row["headers"])
        headers = [HeaderLine(each.key, _header_text(each)) for each in found]
    line = RecordLine(
        position=f"{row['_topic']}/{row['_partition']}/{row['_offset']}",
        row=row["_row"],
        topic_id=topic_id,
        dataset=row["dataset"] or "",
        reason=row["reason"] or "",
        detail=row["detail"] or "",
        fingerprint=row["fingerprint"] or "",
        timestamp=row["_timestamp"],
        key=_text(row["key"]),
        headers=headers,
        value=_text(row["value"]),
    )
    return _encoder.encode(line) + b"\n"


def decode_line(raw: bytes) -> RecordLine:
    """A line of the file; raises `LineRefused`."""
    try:
        return _decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise LineRefused(_plainly(str(error))) from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise LineRefused("it is not JSON") from error


def _plainly(found: str) -> str:
    """What is wrong with a line, where people often get it wrong."""
    if found.startswith("Expected `object`, got") and " - at " not in found:
        return f"it is not a JSON object ({found}); a line is one record"
    for what in ("value", "key"):
        if f"`$.{what}`" in found or f"`$.{what}." in found:
            return (
                f"its {what} is not a text ({found}); write it as a JSON text, with the quotes "
                'inside escaped, or as {"base64": "..."}, or null'
            )
    return found


def contents_of(line: RecordLine, before: Contents) -> Contents:
    """What a record is to hold by a line; raises `LineRefused`."""
    key = before.key if line.key is msgspec.UNSET else _bytes(line.key, "key")
    headers = before.headers
    if line.headers is not msgspec.UNSET and line.headers != _header_lines(before.headers):
        headers = _headers_json(line.headers)
    return Contents(key, headers, _bytes(line.value, "value"))


def _header_lines(text: str | None) -> list[HeaderLine] | None:
    if text is None:
        return None
    return [HeaderLine(each.key, _header_text(each)) for each in read_headers(text)]


def _headers_json(lines: list[HeaderLine] | None) -> str | None:
    """Headers in the form in which the source gives them."""
    if not lines:
        return None
    found = []
    for line in lines:
        value = _bytes(line.value, "a header")
        shown = None if value is None else base64.b64encode(value).decode()
        found.append({k: v for k, v in (("key", line.key), ("value", shown)) if v is not None})
    return msgspec.json.encode(found).decode()


def _header_text(header: Header) -> Text:
    if header.value is None:
        return None
    try:
        return _text(base64.b64decode(header.value, validate=True))
    except (binascii.Error, ValueError):
        return None


def _text(raw: bytes | None) -> Text:
    if raw is None:
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return Base64(base64.b64encode(raw).decode())


def _bytes(text: Text, what: str) -> bytes | None:
    if text is None:
        return None
    if isinstance(text, Base64):
        try:
            return base64.b64decode(text.base64, validate=True)
        except (binascii.Error, ValueError) as error:
            raise LineRefused(f"the base64 of {what} cannot be read") from error
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise LineRefused(
            f"{what} has half of a surrogate pair, which UTF-8 cannot hold"
        ) from error
