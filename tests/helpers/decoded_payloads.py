"""What codecs and framings make of a few payloads."""

import numpy as np
import pyarrow as pa

from penstock.api.codec import DecodedBatch, Frame, FramedRecords
from penstock.datapath.codec.msgpack.msgpack_json import as_json
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.text.text_reader import TextLayout, text_reader, text_schema


def said(*payloads: bytes) -> tuple[list[bytes], dict[int, str]]:
    found = as_json(pa.array(payloads, pa.binary()), Limits())
    return found.texts.to_pylist(), {bad.index: bad.reason for bad in found.bad}


LOG = r"(?P<level>[A-Z]+) (?P<path>/\S*)(?: (?P<more>.*))?"


def read(layout: TextLayout, *values: bytes, limits: Limits | None = None) -> DecodedBatch:
    return text_reader(text_schema(layout), limits).read(pa.array(values, pa.binary()), 0)


def by_row(found: FramedRecords, count: int) -> list[Frame | str]:
    rows: list[Frame | str | None] = [None] * count
    for frame, members in found.groups:
        assert bool((np.diff(members) > 0).all()), "in the order of the records"
        for row in members.tolist():
            assert rows[row] is None
            rows[row] = frame
    for bad in found.bad:
        assert rows[bad.index] is None
        rows[bad.index] = bad.reason
    assert None not in rows
    return rows  # type: ignore[return-value]
