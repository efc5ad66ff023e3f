"""Files that somebody else put into the lake: told by name, whatever they are, with a receipt."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unit.doctored import DoctoredLake, events
from tests.unit.test_audit_deep import receipt

TOPIC, PARTITION, OFFSET = ("_topic", ["events"]), ("_partition", [0]), ("_offset", [1])
ODD_COLUMNS: dict[str, list[tuple[str, Any]]] = {
    "_offset more than once": [TOPIC, PARTITION, OFFSET, OFFSET],
    "_offset is of type string": [TOPIC, PARTITION, ("_offset", ["1"])],
    "_offset is of type bool": [TOPIC, PARTITION, ("_offset", [True])],
    "_offset is of type null": [TOPIC, PARTITION, ("_offset", pa.nulls(1))],
    "_offset is of type timestamp": [
        TOPIC, PARTITION, ("_offset", pa.array([1], pa.timestamp("us"))),
    ],
    "_partition is of type double": [TOPIC, ("_partition", [0.5]), OFFSET],
    "_topic is nested": [("_topic", [["events"]]), PARTITION, OFFSET],
    "_topic is of type int64": [("_topic", [5]), PARTITION, OFFSET],
    "_topic is of type dictionary<values=binary": [("_topic", [b"\xff"]), PARTITION, OFFSET],
    "_row is of type string": [TOPIC, PARTITION, OFFSET, ("_row", ["x"])],
    "no column _partition": [TOPIC, OFFSET],
}  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DoctoredLake:
    found = DoctoredLake(tmp_path, events(50), max_records=50)
    found.plain_tools(monkeypatch)
    return found


@pytest.mark.parametrize(("words", "columns"), ODD_COLUMNS.items(), ids=ODD_COLUMNS)
def test_a_file_with_odd_columns_is_not_ours(
    lake: DoctoredLake,
    capsys: pytest.CaptureFixture[str],
    words: str,
    columns: list[tuple[str, Any]],
) -> None:
    """Once as a foreign file, and once in place of one of ours."""
    [victim] = lake.data("click")
    foreign = victim.with_name("x.parquet")
    arrays = [each if isinstance(each, pa.Array) else pa.array(each) for _, each in columns]
    pq.write_table(pa.Table.from_arrays(arrays, names=[name for name, _ in columns]), foreign)
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert (difference["kind"], difference["file"]) == ("file_foreign", lake.key(foreign))
    shutil.move(foreign, victim)
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert (difference["kind"], difference["file"]) == ("file_size", lake.key(victim))
    assert words in difference["found"]


def test_a_quarantine_file_whose_datasets_are_no_texts_is_not_ours(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    [victim] = lake.quarantined()
    table = pq.ParquetFile(victim).read()
    at = table.schema.get_field_index("dataset")
    numbers = pa.array(range(len(table)), pa.int64())
    pq.write_table(table.set_column(at, "dataset", numbers), victim)
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert difference["file"] == lake.key(victim)
    assert "its column dataset is of type int64" in difference["found"]
