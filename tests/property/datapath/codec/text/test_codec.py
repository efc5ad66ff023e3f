"""Lines of text: patterns fit as Python's own fit, and delimited values are what was written.

Method: patterns are made of parts that RE2 and Python's `re` understand alike, and texts of what
they match or nearly match. Delimited lines are written by Python's own writer of CSV.
"""

import csv
import io
import re
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.codec import DecodedBatch
from penstock.datapath.codec.text.text_reader import TextLayout, text_reader, text_schema

FLAGS = re.ASCII | re.DOTALL  # classes of RE2 are ASCII's; a dot may be a line end
LETTERS = "ab1 é-\n"
ATOMS = st.sampled_from(["a", "b", "1", " ", "é", "-", "[ab]", "[^a]", r"\d", r"\w", r"\S", "."])
TIMES = st.sampled_from(["", "", "", "*", "+", "?", "{1,2}", "*?", "+?", "??"])
ROWS = st.lists(st.builds("".join, st.tuples(ATOMS, TIMES)), min_size=1, max_size=3).map("".join)
PARTS = st.one_of(ROWS, st.tuples(ROWS, ROWS).map(lambda two: f"(?:{two[0]}|{two[1]})"))


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Named groups with texts between; some may take no part in a match."""
    found = []
    for number in range(draw(st.integers(1, 3))):
        group = f"(?P<g{number}>{draw(PARTS)})"
        before = draw(st.one_of(st.just(""), PARTS))
        found.append(before + draw(st.sampled_from([group, f"(?:{group})?", f"(?:{group}|1)"])))
    return "".join(found) + draw(st.one_of(st.just(""), PARTS))


def read(layout: TextLayout, texts: list[str]) -> DecodedBatch:
    payloads = [text.encode() for text in texts]
    return text_reader(text_schema(layout)).read(pa.array(payloads, pa.binary()), 0)


def without_line_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


@given(patterns(), st.data())
def test_a_pattern_gives_the_groups_that_python_finds(pattern: str, data: st.DataObject) -> None:
    compiled = re.compile(pattern, FLAGS)
    like = st.from_regex(compiled, fullmatch=True)
    endings = st.sampled_from(["", "", "\n", "\r\n", "x"])
    texts = st.one_of(st.text(LETTERS, max_size=8), st.tuples(like, endings).map("".join))
    drawn = data.draw(st.lists(texts.filter(bool), max_size=8))
    found = read(TextLayout(pattern), drawn)
    wanted = [compiled.fullmatch(without_line_end(text)) for text in drawn]
    assert found.good.tolist() == [row for row, match in enumerate(wanted) if match]
    rows = [match.groupdict() for match in wanted if match]
    assert found.batch.to_pylist() == rows
    assert [bad.reason for bad in found.bad] == ["NO_MATCH"] * (len(drawn) - len(rows))


VALUES = st.text(st.characters(codec="utf-8"), max_size=6) | st.text(',;|\t"\r\n a', max_size=6)
QUOTING = st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])


@given(
    st.sampled_from([",", ";", "|", "\t"]), st.integers(1, 4), st.lists(st.lists(VALUES)), st.data()
)
def test_delimited_values_are_those_that_were_written(
    delimiter: str, columns: int, lines: list[list[str]], data: st.DataObject
) -> None:
    lines += [line[:columns] + [""] * (columns - len(line)) for line in lines]
    lines = [line for line in lines if line]
    texts = [
        written(line, delimiter, data.draw(QUOTING), data.draw(st.sampled_from(["", "\n", "\r\n"])))
        for line in lines
    ]
    names = tuple(f"c{number}" for number in range(columns))
    found = read(TextLayout(delimiter=delimiter, columns=names), texts)
    fitting = [row for row, line in enumerate(lines) if len(line) == columns]
    assert found.good.tolist() == fitting
    assert [list(row.values()) for row in found.batch.to_pylist()] == [lines[r] for r in fitting]
    assert {bad.reason for bad in found.bad} <= {"WRONG_COLUMNS"}
    assert len(found.bad) == len(lines) - len(fitting)


def written(line: list[str], delimiter: str, quoting: Any, ending: str) -> str:
    """A line as Python's own writer writes it, which quotes line ends only if it writes them."""
    place = io.StringIO(newline="")
    csv.writer(place, delimiter=delimiter, quoting=quoting).writerow(line)
    return place.getvalue().removesuffix("\r\n") + ending
