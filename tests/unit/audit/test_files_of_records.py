"""Damaged files of records as they came, and what a deep audit says of them.

SequenceFiles say which offset a row has, so offsets are named. Lines say nothing: whatever is
changed in such a file, its checksum tells, and none of its rows is proven any more.
"""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from penstock.api.doors import FORMATS
from penstock.api.file_format import KEY, VALUE, WriteOptions
from penstock.api.find import find
from tests.helpers.deep_receipts import receipt, told
from tests.helpers.doctored_lakes import SPEC, DoctoredLake, event
from tests.helpers.files_by_others import values_of_file
from tests.helpers.lakes_on_disk import Payload
from tests.simulator.programs import FEED

COMPRESSIONS = {"sequencefile": ("none", "record", "block"), "sequencefile-msgpack": ("block",),
                "text": ("none", "gzip"), "text-escaped": ("none",)}  # fmt: skip
Rows = list[tuple[bytes, dict[str, Any]]]  # values, and what a file says of them
Change = Callable[[Rows], Rows]

Made = Callable[[str, str], DoctoredLake]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """One window of 20 clicks, in one file."""

    def make(form: str, compression: str) -> DoctoredLake:
        spec = msgspec.structs.replace(SPEC, format=form, compression=compression)
        payloads: list[Payload] = [event("click", number) for number in range(20)]
        lake = DoctoredLake(tmp_path, payloads, max_records=50, spec=spec)
        lake.plain_tools(monkeypatch)
        return lake

    return make


def rewrite(lake: DoctoredLake, change: Change) -> str:
    """Write the only file of a lake again with other rows; its key."""
    (file,) = lake.files(FEED)
    form = find(FORMATS, lake.spec.format)
    rows = change(list(values_of_file(file)))
    table = pa.table(
        {
            VALUE: pa.array([value for value, _ in rows], pa.binary()),
            KEY: pa.array([more.get("_key") for _, more in rows], pa.binary()),
            "_offset": pa.array([more.get("_offset", 0) for _, more in rows], pa.int64()),
        }
    )
    words = dict(form.open(io.BytesIO(file.read_bytes())).words)
    with file.open("wb") as stream:
        writer = form.begin(stream, table.schema, WriteOptions(lake.spec.compression, words))
        writer.write(table)
        writer.finish()
    return lake.key(file)


def swapped(rows: Rows) -> Rows:
    """Two rows in the wrong order."""
    return [*rows[:3], rows[4], rows[3], *rows[5:]]


def lost(rows: Rows) -> Rows:
    return rows[:7] + rows[8:]


def twice(rows: Rows) -> Rows:
    return [*rows, rows[9]]


def of_another_offset(rows: Rows) -> Rows:
    """A row of an offset that is in no range of the file."""
    value, more = rows[7]
    return [*rows[:7], (value.replace(b": 7", b": 70"), {**more, "_offset": 70}), *rows[8:]]


def with_the_value_of_another(rows: Rows) -> Rows:
    return [*rows[:7], (rows[8][0], rows[7][1]), *rows[8:]]


EVERY = (swapped, lost, twice, of_another_offset, with_the_value_of_another)
BY_OFFSET = [(f, c) for f in COMPRESSIONS if f.startswith("seq") for c in COMPRESSIONS[f]]
LINES = [(f, c) for f in COMPRESSIONS if f.startswith("text") for c in COMPRESSIONS[f]]


@pytest.mark.parametrize(("form", "compression"), BY_OFFSET)
def test_rewritten_sequence_files_are_named_with_the_offsets_that_are_wrong(
    form: str, compression: str, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted: dict[Change, dict[str, list[list[int]]]] = {
        swapped: {},
        lost: {"missing": [[7, 8]]},
        twice: {"doubled": [[9, 10]]},
        of_another_offset: {"missing": [[7, 8]], "foreign": [[70, 71]]},
        with_the_value_of_another: {},
    }
    lake = made(form, compression)
    (file,) = lake.files(FEED)
    whole = file.read_bytes()
    for change in EVERY:
        file.write_bytes(whole)
        key = rewrite(lake, change)
        assert told(lake, capsys) == {key: wanted[change]}, change
    file.write_bytes(whole)
    rewrite(lake, lambda rows: rows)
    assert file.read_bytes() == whole, "the same rows give the same bytes"
    assert receipt(lake, capsys)["verdict"] == "ok"


@pytest.mark.parametrize(("form", "compression"), LINES)
def test_rewritten_lines_are_named_and_not_one_of_them_is_proven(
    form: str, compression: str, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = made(form, compression)
    (file,) = lake.files(FEED)
    whole = file.read_bytes()
    for change, count in zip(EVERY, (20, 19, 21, 20, 20), strict=True):
        file.write_bytes(whole)
        key = rewrite(lake, change)
        (difference,) = receipt(lake, capsys, code=4)["differences"]
        assert difference["file"] == key
        assert f"its {count} rows do not say which records they are" in difference["found"]
        assert "20 were written" in difference["found"]
        (offsets,) = difference["offsets"]
        assert (offsets["fate"], offsets["runs"]) == ("missing", [[0, 20]])


def test_lines_that_were_packed_again_are_other_bytes(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing but the bytes that were written proves them, though a reader sees the same lines."""
    lake = made("text", "gzip")
    (file,) = lake.files(FEED)
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()), 1))
    (difference,) = receipt(lake, capsys, code=4)["differences"]
    assert difference["file"] == lake.key(file)


@pytest.mark.parametrize(("form", "compression"), [*BY_OFFSET, *LINES])
def test_a_flipped_byte_or_a_cut_is_named_wherever_it_is(
    form: str, compression: str, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = made(form, compression)
    (file,) = lake.files(FEED)
    whole = file.read_bytes()
    step = max(1, len(whole) // 12)
    for place in range(0, len(whole), step):
        flipped = whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :]
        for changed in (flipped, whole[:place]):
            file.write_bytes(changed)
            differences = receipt(lake, capsys, code=4)["differences"]
            assert [each["file"] for each in differences] == [lake.key(file)], place
