"""Lines of text to columns: by a regular expression with named groups, or by a delimiter.

    what a payload holds                          its fate
    ------------------------------------------    ------------------------------------------------
    nothing                                       bad: EMPTY
    bytes that are not UTF-8                      bad: NOT_UTF8
    more than 16 MiB                              bad: TOO_LONG
    one line end at its end (LF or CRLF)          it is not part of the text
    any other line end, in quotes or not          part of its value
    a text that the pattern does not fit, whole   bad: NO_MATCH
    a group that takes no part in the match       null
    a group that takes part and fits no text      an empty text
    more or fewer values than columns             bad: WRONG_COLUMNS
    a value in double quotes, where there is a    its content, in which two quotes are one and the
      delimiter                                     delimiter is plain
    a quote that is not closed, or text behind    bad: WRONG_QUOTES
      a closing one

Every column is a text. Expressions are RE2's, which take time in proportion to the text, whatever
it holds.
"""

from functools import partial

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.codec import (
    DecodedBatch,
    Message,
    RecordReader,
)
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.shared.buffers import is_utf8
from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.reasons import EMPTY, NOT_UTF8, TOO_LONG
from penstock.datapath.codec.shared.record_order import in_record_order
from penstock.model.bad_records import BadRecord
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import STRING, Field, with_columns
from penstock.model.spec import DecodeSpec
from penstock.model.value import Value

NO_MATCH = "NO_MATCH"
WRONG_COLUMNS = "WRONG_COLUMNS"
WRONG_QUOTES = "WRONG_QUOTES"

_QUOTE = '"'
_LINE_END = r"\r?\n$"


class TextLayout(Value, frozen=True):
    """How a line is cut: by a pattern, or by a delimiter into so many columns."""

    pattern: str = ""
    delimiter: str = ""
    columns: tuple[str, ...] = ()


_text_layout_decoder = msgspec.json.Decoder(TextLayout)


def text_schema(layout: TextLayout) -> RegisteredSchema:
    """A layout as something that travels like a schema."""
    return RegisteredSchema("text", msgspec.json.encode(layout).decode())


def text_reader(schema: RegisteredSchema, limits: Limits | None = None) -> RecordReader:
    """Make a layout ready for reading; raises SchemaUnsupported."""
    layout = _text_layout_decoder.decode(schema.text)
    names = layout.columns or group_names(layout.pattern)
    if not names:
        raise SchemaUnsupported("$", "a pattern needs groups with names, such as (?P<level>\\w+)")
    if len(set(names)) < len(names):
        raise SchemaUnsupported("$", "two columns have one name")
    fields = with_columns([(name, STRING, True) for name in names], top=True)
    return RecordReader("", fields, partial(_read, layout, fields, limits or Limits()))


def group_names(pattern: str) -> tuple[str, ...]:
    """The names of a pattern's groups, in order; raises SchemaUnsupported."""
    try:
        found = pc.extract_regex(pa.array([""]), _whole(pattern))
    except pa.ArrowInvalid as error:
        raise SchemaUnsupported("$", f"the pattern cannot be used: {error}") from error
    return tuple(field.name for field in found.type)


def _whole(pattern: str) -> str:
    return f"^(?s:{pattern})$" if pattern else "^$"


def _read(
    layout: TextLayout, fields: tuple[Field, ...], limits: Limits, values: pa.Array, _skipped: int
) -> DecodedBatch:
    schema = pa.schema([pa.field(field.column, pa.string()) for field in fields])
    lengths = pc.binary_length(values).to_numpy(zero_copy_only=False)
    bad = [BadRecord(row, EMPTY, "no bytes") for row in np.flatnonzero(lengths == 0).tolist()]
    too_long = np.flatnonzero(lengths > limits.max_bytes)
    bad += [BadRecord(row, TOO_LONG, f"{lengths[row]} bytes") for row in too_long.tolist()]
    rows = np.flatnonzero((lengths > 0) & (lengths <= limits.max_bytes))
    values = values.take(pa.array(rows))
    try:
        texts = values.cast(pa.string())
    except pa.ArrowInvalid:
        good = np.array([is_utf8(each) for each in values.to_pylist()], dtype=bool)
        bad += [BadRecord(row, NOT_UTF8, "not a text") for row in rows[~good].tolist()]
        rows = rows[good]
        texts = values.filter(pa.array(good)).cast(pa.string())
    texts = pc.replace_substring_regex(texts, _LINE_END, "")
    read = _cut(layout, schema, texts, rows)
    return DecodedBatch(
        read.batch, read.good, sorted([*bad, *read.bad], key=lambda each: each.index)
    )


def _cut(layout: TextLayout, schema: pa.Schema, texts: pa.Array, rows: Numbers) -> DecodedBatch:
    if layout.delimiter:
        return _by_delimiter(layout.delimiter, schema, texts, rows)
    found = pc.extract_regex(texts, _whole(layout.pattern))
    good = found.is_valid().to_numpy(zero_copy_only=False)
    bad = [BadRecord(row, NO_MATCH, "the pattern does not fit") for row in rows[~good].tolist()]
    columns = found.filter(pa.array(good)).flatten()
    if any(pc.any(pc.equal(column, "")).as_py() for column in columns):
        columns = _without_absent_groups(layout.pattern, texts.filter(pa.array(good)), columns)
    return DecodedBatch(pa.RecordBatch.from_arrays(columns, schema=schema), rows[good], bad)


def _without_absent_groups(
    pattern: str, texts: pa.Array, columns: list[pa.Array]
) -> list[pa.Array]:
    """Groups that took no part are null; as extracted they look like groups that fit no text."""
    spans = pc.extract_regex_span(texts, _whole(pattern)).flatten()
    return [
        pc.if_else(span.is_valid(), column, None)
        for span, column in zip(spans, columns, strict=True)
    ]


def _by_delimiter(
    delimiter: str, schema: pa.Schema, texts: pa.Array, rows: Numbers
) -> DecodedBatch:
    """Texts without quotes are split at once, the others one by one."""
    quoted = pc.match_substring(texts, _QUOTE).to_numpy(zero_copy_only=False)
    plain = texts.filter(pa.array(~quoted))
    parts = pc.split_pattern(plain, delimiter)
    counts = pc.list_value_length(parts).to_numpy(zero_copy_only=False)
    fits = counts == len(schema)
    plain_rows = rows[~quoted]
    bad = [
        BadRecord(row, WRONG_COLUMNS, f"{count} values for {len(schema)} columns")
        for row, count in zip(plain_rows[~fits].tolist(), counts[~fits].tolist(), strict=True)
    ]
    whole = parts.filter(pa.array(fits)).flatten()
    columns = [
        whole.take(pa.array(np.arange(place, len(whole), len(schema))))
        for place in range(len(schema))
    ]
    fast = pa.RecordBatch.from_arrays(columns, schema=schema)
    slow_rows, slow = [], []
    for row, text in zip(rows[quoted].tolist(), texts.filter(pa.array(quoted)).to_pylist(),
                         strict=True):  # fmt: skip
        found = split_quoted(text, delimiter)
        if found is None:
            bad.append(BadRecord(row, WRONG_QUOTES, "its quotes do not fit"))
        elif len(found) != len(schema):
            detail = f"{len(found)} values for {len(schema)} columns"
            bad.append(BadRecord(row, WRONG_COLUMNS, detail))
        else:
            slow_rows.append(row)
            slow.append(dict(zip(schema.names, found, strict=True)))
    single = pa.RecordBatch.from_pylist(slow, schema=schema)
    return in_record_order(fast, plain_rows[fits], single, np.array(slow_rows, np.int64), bad)


def split_quoted(text: str, delimiter: str) -> list[str] | None:
    """The values of one line; None when its quotes do not fit. The reference for all lines.

    Python's own reader of CSV has a limit for the whole process, and takes a line end for the end
    of a record.
    """
    values, at = [], 0
    while True:
        if text.startswith(_QUOTE, at):
            end = _closing(text, at + 1)
            if end is None:
                return None
            values.append(text[at + 1 : end].replace(_QUOTE * 2, _QUOTE))
            end += 1
            if end < len(text) and not text.startswith(delimiter, end):
                return None
        else:
            end = text.find(delimiter, at)
            end = len(text) if end < 0 else end
            values.append(text[at:end])
        if end == len(text):
            return values
        at = end + len(delimiter)


def _closing(text: str, at: int) -> int | None:
    """Where a quote closes what begins behind the opening one; two of them close nothing."""
    while (end := text.find(_QUOTE, at)) >= 0:
        if not text.startswith(_QUOTE, end + 1):
            return end
        at = end + 2
    return None


def line_reader(schema: RegisteredSchema, _message: Message) -> RecordReader:
    """The reader of a layout; a line has no messages."""
    return text_reader(schema)


def fixed_layout(decode: DecodeSpec) -> RegisteredSchema:
    """The layout of a configuration, for all records of a feed."""
    return text_schema(TextLayout(decode.pattern, decode.delimiter, decode.columns))
