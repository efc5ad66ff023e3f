"""Values of records in lines and in SequenceFiles, compared with what anybody would do by hand."""

import io

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.formats.byte_source import ByteSource
from penstock.datapath.formats.sequencefile.sequence_layout import (
    map_key,
    map_key_from,
    vint,
    vint_from,
)
from penstock.datapath.formats.text.line_unfit import with_line_ends
from penstock.datapath.formats.text.text_lines import escaped, unescaped

VALUES = st.lists(st.none() | st.text("ab\\\nnr\r\x00ü", max_size=6).map(str.encode), max_size=30)


@given(VALUES, st.integers(0, 5))
def test_values_with_a_line_end_are_found_wherever_a_batch_begins(
    values: list[bytes | None], start: int
) -> None:
    found = with_line_ends(pa.array(values, pa.binary()).slice(start))
    wanted = [
        n for n, v in enumerate(values[start:]) if v is not None and len(set(b"\r\n") & set(v))
    ]
    assert found == wanted


@given(st.binary(max_size=60) | st.text("\\nr\n\r", max_size=20).map(str.encode))
def test_an_escaped_value_is_one_line_and_comes_back(value: bytes) -> None:
    line = escaped(value)
    assert not set(b"\r\n") & set(line)
    assert unescaped(line) == value


@given(st.integers(0, 2**63 - 1))
def test_a_number_comes_back(number: int) -> None:
    source = ByteSource(io.BytesIO(vint(number) + b"rest"))
    assert vint_from(source) == number
    assert source.take(4) == b"rest"


@given(st.integers(0, 2**63 - 1), st.none() | st.binary(max_size=300))
def test_a_key_of_kafka_comes_back_with_its_offset(offset: int, key: bytes | None) -> None:
    assert map_key_from(map_key(offset, key)) == (offset, key)
