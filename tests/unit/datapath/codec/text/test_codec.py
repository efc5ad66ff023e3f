"""Lines of text: by a pattern, by a delimiter, and as they are."""

import pytest

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.text.text_reader import TextLayout, text_reader, text_schema
from tests.helpers.decoded_payloads import LOG, read


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
        {"level": "WARN", "path": "/b", "more": None},
        {"level": "ERROR", "path": "/c", "more": "two\nlines"},
    ]
    assert found.good.tolist() == [0, 2, 5]
    assert [(bad.index, bad.reason) for bad in found.bad] == [
        (1, "NO_MATCH"),
        (3, "EMPTY"),
        (4, "NOT_UTF8"),
        (6, "NO_MATCH"),
    ]


def test_a_group_that_takes_no_part_is_null_and_one_that_fits_no_text_is_empty() -> None:
    layout = TextLayout(r"(?:(?P<at>\d+) (?P<text>.*)|(?P<other>.*))")
    found = read(layout, b"17 a", b"18 ", b"no time", b"\n")
    assert found.batch.to_pylist() == [
        {"at": "17", "text": "a", "other": None},
        {"at": "18", "text": "", "other": None},
        {"at": None, "text": None, "other": "no time"},
        {"at": None, "text": None, "other": ""},
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
