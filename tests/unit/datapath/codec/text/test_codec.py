"""Lines of text: by a pattern, by a delimiter, and as they are."""

import csv

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.codec.raw.codec import raw_reader
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.record_reader import DecodedBatch
from penstock.datapath.codec.shared.unsupported import SchemaUnsupported
from penstock.datapath.codec.text.codec import TextLayout, split_quoted, text_reader, text_schema

LOG = r"(?P<level>[A-Z]+) (?P<path>/\S*)(?: (?P<more>.*))?"


def read(layout: TextLayout, *values: bytes, limits: Limits | None = None) -> DecodedBatch:
    return text_reader(text_schema(layout), limits).read(pa.array(values, pa.binary()), 0)


def test_a_pattern_gives_a_column_per_named_group() -> None:
    found = read(
        TextLayout(LOG),
        b"INFO /a x y",
        b"no match",
        b"WARN /b\r\n",
        b"",
        b"\xff",
        b"ERROR /c two\nlines\n",
        b" INFO /a",
    )
    assert found.batch.to_pylist() == [
        {"level": "INFO", "path": "/a", "more": "x y"},
        {"level": "WARN", "path": "/b", "more": ""},
        {"level": "ERROR", "path": "/c", "more": "two\nlines"},
    ]
    assert found.good.tolist() == [0, 2, 5]
    assert [(bad.index, bad.reason) for bad in found.bad] == [
        (1, "NO_MATCH"),
        (3, "EMPTY"),
        (4, "NOT_UTF8"),
        (6, "NO_MATCH"),
    ]


def test_a_delimiter_gives_the_columns_that_are_named() -> None:
    layout = TextLayout(delimiter=",", columns=("a", "day", "c"))
    found = read(
        layout, b"1,2,3", b"1,2", b'"x,""y""",,z\n', b'"x,2,3', b'"x"y,2,3', b",,", b"1,2,3,4"
    )
    assert found.batch.to_pylist() == [
        {"a": "1", "day_": "2", "c": "3"},
        {"a": 'x,"y"', "day_": "", "c": "z"},
        {"a": "", "day_": "", "c": ""},
    ]
    assert [(bad.index, bad.reason) for bad in found.bad] == [
        (1, "WRONG_COLUMNS"),
        (3, "WRONG_QUOTES"),
        (4, "WRONG_QUOTES"),
        (6, "WRONG_COLUMNS"),
    ]


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1), max_size=20
    )
)
def test_texts_are_split_as_the_reference_splits_them(texts: list[str]) -> None:
    layout = TextLayout(delimiter=";", columns=("a", "b"))
    found = read(layout, *(text.encode() for text in texts))
    wanted = [split_quoted(text, ";") for text in texts]
    kept = [row for row, parts in enumerate(wanted) if parts is not None and len(parts) == 2]
    assert found.good.tolist() == kept
    assert [list(row.values()) for row in found.batch.to_pylist()] == [wanted[row] for row in kept]
    assert len(found.bad) == len(texts) - len(kept)


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_no_bytes_do_harm_to_texts_around_them(payloads: list[bytes]) -> None:
    """Method: bytes that may be anything, each between two good records."""
    for layout, good in ((TextLayout(LOG), b"INFO /a"), (TextLayout("", ",", ("a", "b")), b"1,2")):
        values = [good, *(each for payload in payloads for each in (payload, good))]
        found = read(layout, *values)
        assert set(range(0, len(values), 2)) <= set(found.good.tolist())
        together = [*found.good.tolist(), *(bad.index for bad in found.bad)]
        assert sorted(together) == list(range(len(values)))
        assert found.batch.num_rows == len(found.good)
        found.batch.validate(full=True)


@given(st.text(alphabet='a ,"é\0', max_size=12))
def test_lines_are_split_as_python_splits_them(text: str) -> None:
    """As far as Python does: it takes line ends for the end of a record, and nothing for none."""
    try:
        [wanted] = list(csv.reader([text], strict=True))
    except csv.Error:
        assert split_quoted(text, ",") is None
        return
    assert split_quoted(text, ",") == (wanted or [""])


def test_quotes_change_neither_how_long_a_value_may_be_nor_what_a_line_end_is() -> None:
    long = b"x" * 200_000
    plain = read(TextLayout("", ",", ("a", "b")), long + b",y", b"a\nb,c", b"a\rb,c", b"a,c\r\n")
    quoted = read(
        TextLayout("", ",", ("a", "b")),
        b'"' + long + b'",y',
        b'a\nb,"c"',
        b'"a\rb",c',
        b'a,"c"\r\n',
        b'a\rb,"c"',
        b'"a",b"c',
    )
    assert plain.bad == quoted.bad == []
    *same, mixed, inside = quoted.batch.to_pylist()
    assert same == plain.batch.to_pylist()
    assert mixed == {"a": "a\rb", "b": "c"}
    assert inside == {"a": "a", "b": 'b"c'}


def test_what_is_too_long_is_refused() -> None:
    found = read(TextLayout(LOG), b"INFO /a", b"INFO /" + b"a" * 20, limits=Limits(max_bytes=10))
    assert [(bad.index, bad.reason) for bad in found.bad] == [(1, "TOO_LONG")]


@pytest.mark.parametrize("pattern", ["", "(", "(?P<a>x)(?P<a>y)", "no groups", r"(?P<a>x)\1"])
def test_a_pattern_that_cannot_be_used_is_told(pattern: str) -> None:
    with pytest.raises(SchemaUnsupported):
        text_reader(text_schema(TextLayout(pattern)))


def test_no_records_are_no_rows() -> None:
    assert read(TextLayout(LOG)).batch.num_rows == 0
    assert read(TextLayout(delimiter=",", columns=("a",))).batch.num_rows == 0


@given(st.lists(st.binary(max_size=60), max_size=20), st.integers(0, 20))
def test_raw_values_are_bytes_whatever_they_hold(payloads: list[bytes], start: int) -> None:
    values = pa.array(payloads, pa.binary()).slice(start)
    found = raw_reader().read(values, 0)
    assert [row["value"] for row in found.batch.to_pylist()] == payloads[start:]
    assert found.good.tolist() == list(range(len(values)))
    assert found.bad == []
