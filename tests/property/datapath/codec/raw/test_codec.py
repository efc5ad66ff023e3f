"""Raw values: bytes in, the same bytes out."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.codec.raw.raw_reader import raw_reader


@given(st.lists(st.binary(max_size=60), max_size=20), st.integers(0, 20))
def test_raw_values_are_bytes_whatever_they_hold(payloads: list[bytes], start: int) -> None:
    values = pa.array(payloads, pa.binary()).slice(start)
    found = raw_reader().read(values, 0)
    assert [row["value"] for row in found.batch.to_pylist()] == payloads[start:]
    assert found.good.tolist() == list(range(len(values)))
    assert found.bad == []
