"""The quarantine is read in pieces that are bounded by bytes, and nothing of it gets lost."""

import io
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.api.file_format import PIECE_BYTES
from penstock.audit.ledger import open_ledger
from penstock.audit.quarantine_records import records
from penstock.datapath.formats.parquet.parquet import FORMAT
from penstock.datapath.formats.parquet.parquet_reader import rows_within
from penstock.datapath.stage.quarantine_rows import QuarantinePart
from penstock.datapath.stage.replay_task import wanted_batches
from penstock.errors import StoreUnavailable
from penstock.model.manifest import QUARANTINE
from penstock.ports.store.local.disk import Disk
from penstock.ports.store.local.local_store import LocalStore
from tests.helpers.journals import an_owner
from tests.helpers.lakes_on_disk import DiskLake, ShreddedSource
from tests.helpers.quarantined_records import SPEC
from tests.helpers.shredding import BY_TYPE, shred
from tests.simulator.programs import Room

KIB, MIB = 1 << 10, 1 << 20
LARGE = [Random(n).randbytes(512 * KIB) for n in range(3 * PIECE_BYTES // (512 * KIB))]


def a_file(groups: Sequence[Sequence[bytes | None]]) -> io.BytesIO:
    """A Parquet file with these values, row group by row group, numbered from 0."""
    schema = pa.schema([("n", pa.int64()), ("value", pa.binary())])
    file, number = io.BytesIO(), 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for values in groups:
            numbers = range(number, number + len(values))
            number += len(values)
            writer.write_table(pa.table({"n": numbers, "value": values}, schema=schema))
    file.seek(0)
    return file


def in_pieces(file: io.BytesIO, most_rows: int, most_bytes: int) -> list[Any]:
    return list(FORMAT.open(file).pieces(["n", "value"], most_rows, most_bytes))


def values_of(batches: list[Any]) -> list[bytes | None]:
    return [value for batch in batches for value in batch["value"].to_pylist()]


def test_a_piece_is_bounded_by_bytes_whatever_the_row_groups() -> None:
    for size in (1, 8, 16):
        groups = [LARGE[at : at + size] for at in range(0, 16, size)]
        found = in_pieces(a_file(groups), 65_536, 2 * MIB)
        assert max(batch.nbytes for batch in found) < 2.1 * MIB
        assert values_of(found) == LARGE[:16]


def test_a_piece_is_bounded_by_rows_and_has_one_at_least() -> None:
    assert [batch.num_rows for batch in in_pieces(a_file([[b"x"] * 25]), 10, MIB)] == [10, 10, 5]
    assert [batch.num_rows for batch in in_pieces(a_file([LARGE[:3]]), 10, KIB)] == [1, 1, 1]


def test_rows_of_all_sizes_come_once_and_in_their_order() -> None:
    random = Random(7)
    groups = [
        [random.choice([None, b"", random.randbytes(random.randrange(60 * KIB))]) for _ in range(n)]
        for n in (1, 40, 0, 7, 90)
    ]
    file = a_file(groups)
    whole = pq.read_table(file)
    found = pa.Table.from_batches(in_pieces(file, 1_000, 256 * KIB))
    assert found.to_pydict() == whole.to_pydict()


def test_pages_are_read_when_their_rows_are_asked_for() -> None:
    file = io.BytesIO()
    rows = pa.table({"value": pa.array(LARGE[:32], pa.binary())})
    pq.write_table(rows, file, write_batch_size=1)
    read = CountedBytes(file.getvalue())
    first = next(FORMAT.open(read).pieces(["value"], 1_000, 2 * MIB))
    assert first.num_rows in (3, 4)
    assert read.read_bytes < 5 * MIB


class CountedBytes(io.BytesIO):
    """A file in memory that counts what is read from it."""

    read_bytes = 0

    def read(self, size: int | None = -1) -> bytes:
        got = super().read(size)
        self.read_bytes += len(got)
        return got


def test_a_file_without_rows_has_no_pieces() -> None:
    assert in_pieces(a_file([]), 10, MIB) == []
    assert in_pieces(a_file([[]]), 10, MIB) == []
    assert rows_within(MIB, 0, 0) == 1


def test_a_replay_takes_large_records_a_few_at_a_time() -> None:
    before = shred(BY_TYPE, LARGE, {})
    before.refused()  # makes its files visible
    files = tuple(file.handle.final for file in before.report.files if file.dataset == QUARANTINE)
    part = QuarantinePart(before.report.evidence.range, files, before.report.quarantined)
    batches = [batch for _, batch in wanted_batches(before.store, part)]
    assert max(batch.nbytes for batch in batches) < 1.1 * PIECE_BYTES
    assert values_of(batches) == LARGE


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    return DiskLake(tmp_path)


@pytest.fixture
def room(lake: DiskLake) -> Room:
    """A lake with large records in its quarantine."""
    room = lake.room([])
    owner = an_owner(room, ShreddedSource(lake.store, SPEC, LARGE), max_records=len(LARGE))
    while owner.run_window():
        pass
    [path] = lake.files("_penstock/feed/quarantine")
    rows = pq.read_table(path, partitioning=None)
    pq.write_table(rows, path, row_group_size=8)  # as a task writes it that has many more files
    return room


class CountedFile(io.FileIO):
    """An open file that counts what is read from it, up to a limit at which the disk fails."""

    read_bytes = 0
    fails_at = 1 << 40

    def readinto(self, buffer: Any) -> int:
        got = super().readinto(buffer) or 0
        self.read_bytes += got
        if self.read_bytes > self.fails_at:
            raise OSError(5, "Input/output error")
        return got


class CountingDisk(Disk):
    """A disk that knows the files that were opened to be read piece by piece."""

    def __init__(self, fails_at: int = 1 << 40) -> None:
        super().__init__()
        self.fails_at = fails_at
        self.opened: list[CountedFile] = []

    def open_to_read(self, path: str) -> CountedFile:
        with super().open_to_read(path):
            self.opened.append(CountedFile(path))
        self.opened[-1].fails_at = self.fails_at
        return self.opened[-1]


def test_the_records_of_the_quarantine_are_read_as_they_are_asked_for(
    lake: DiskLake, room: Room
) -> None:
    disk = CountingDisk()
    found = records(LocalStore(lake.root, disk), *open_ledger(room.journal()))
    first = next(found)
    [file] = disk.opened
    assert 0 < file.read_bytes < PIECE_BYTES
    assert [record.value for record in (first, *found)] == LARGE
    assert file.closed


def test_a_disk_that_fails_in_the_middle_is_told_of_as_such(lake: DiskLake, room: Room) -> None:
    disk = CountingDisk(fails_at=PIECE_BYTES * 2)
    found = records(LocalStore(lake.root, disk), *open_ledger(room.journal()))
    assert next(found).value == LARGE[0]
    with pytest.raises(StoreUnavailable, match="Input/output error"):
        list(found)
