"""Files that somebody else put into the lake: told by name, whatever they are, with a receipt."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.helpers.deep_receipts import receipt
from tests.helpers.doctored_lakes import DoctoredLake, event, events, offsets_in
from tests.helpers.journals import an_owner, decided_only
from tests.simulator.programs import FEED

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
    "_topic is of type list": [("_topic", [["events"]]), PARTITION, OFFSET],
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


PLANTED: dict[str, tuple[str, str]] = {
    "a copy that only looks hidden": ("_copy.parquet", "no live entry names it"),
    "a copy with a dot": (".copy.parquet", "no live entry names it"),
    "a copy that Spark reads": ("_copy=1.parquet", "no live entry names it"),
    "a directory that Spark reads": ("_x=1/copy", "no live entry names it"),
    "a link to a file": ("link.parquet", "a link, which no live entry names"),
    "a link to a directory": ("link", "a link, which no live entry names"),
    "a pipe": ("pipe.parquet", "neither a file nor a directory, which no live entry names"),
    "no text": ("\udcff.parquet", "a name that is not UTF-8, which no live entry names"),
}


def plant(victim: Path, name: str) -> None:
    """Something beside a live file that some reader of the directory would count."""
    place = victim.parent / name
    place.parent.mkdir(exist_ok=True)
    if name.startswith("pipe"):
        os.mkfifo(place)
    elif name.startswith("link"):
        place.symlink_to(victim if name.endswith(".parquet") else victim.parent)
    else:
        shutil.copy(victim, place)


@pytest.mark.parametrize("words", [(), ("--deep",)], ids=["shallow", "deep"])
@pytest.mark.parametrize(("name", "found"), PLANTED.values(), ids=PLANTED)
def test_what_some_reader_would_count_is_foreign(
    lake: DoctoredLake,
    capsys: pytest.CaptureFixture[str],
    name: str,
    found: str,
    words: tuple[str, ...],
) -> None:
    [victim] = lake.data("click")
    plant(victim, name)
    assert lake.audit(*words, "--output", "json") == 4
    [difference] = json.loads(capsys.readouterr().out)["differences"]
    key = f"{lake.key(victim.parent)}/{name}".replace("\udcff", "\\xff")
    assert (difference["kind"], difference["file"]) == ("file_foreign", key)
    assert difference["found"].startswith(found)
    assert lake.audit(*words) == 4  # its name can be printed, too


@pytest.mark.parametrize("name", ["_SUCCESS", ".x.parquet.crc", "_temporary/x", "_delta_log/x"])
def test_what_every_reader_passes_over_is_not_foreign(lake: DoctoredLake, name: str) -> None:
    [victim] = lake.data("click")
    plant(victim, name)
    (victim.parent / "_mine").symlink_to(victim.parent)
    assert lake.audit("--deep") == 0


@pytest.mark.parametrize("words", [(), ("--deep",)], ids=["shallow", "deep"])
@pytest.mark.parametrize("is_directory", [False, True], ids=["file", "directory"])
def test_a_link_in_place_of_a_live_file_is_a_difference(
    lake: DoctoredLake,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    is_directory: bool,
) -> None:
    [victim] = lake.data("click")
    rows = len(offsets_in(victim))
    moved = victim.parent if is_directory else victim
    elsewhere = lake.root.parent / "elsewhere"
    shutil.move(moved, elsewhere)
    moved.symlink_to(elsewhere)
    assert lake.audit(*words, "--output", "json") == 4
    found = {each["file"]: each for each in json.loads(capsys.readouterr().out)["differences"]}
    difference = found.pop(f"{FEED}/click/{victim.name}")
    assert difference["kind"] == "file_missing"
    assert difference["found"] == f"a link is there instead of the file; {rows} rows were written"
    assert bool(difference["offsets"]) == bool(words)
    assert list(found) == ([f"{FEED}/click"] if is_directory else [])


def test_a_link_in_place_of_a_file_that_waits_is_a_difference(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.source.payloads += [event("click", 1)]
    lake.kafka = type(lake.kafka)(lake.source)
    number = decided_only(an_owner(lake.room([]), lake.source))
    journal = lake.room([]).journal()
    [file] = journal.content_of(journal.require(number).body).files
    (lake.root / file.handle.final).symlink_to(lake.root)
    for words in ((), ("--deep",)):
        assert lake.audit(*words, "--output", "json") == 4
        [difference] = json.loads(capsys.readouterr().out)["differences"]
        assert (difference["kind"], difference["file"]) == ("file_missing", file.handle.final)
