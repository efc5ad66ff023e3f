"""A file is fetched once: its checksum and its rows come of the same bytes."""

import io
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.api.store import Store
from penstock.audit import check_file as module
from penstock.audit.check_file import FileOrder, check_file
from penstock.datapath.formats.formats_by_ending import format_of_file
from penstock.model.names import FileName
from penstock.testing.memory_store import MemoryStore

FINAL = f"feed/a/{FileName(0, 't', 0, 0, 5_000, '1-1', 'zstd.parquet')}"


class Fetched(io.BytesIO):
    """Notes how many bytes are asked for at a time."""

    sizes: list[int]

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self.sizes.append(len(found))
        return found


class CountingStore(MemoryStore):
    """A store that notes every read of its files."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def open_read(self, key: str) -> BinaryIO | None:
        file = Fetched(self.read(key) or b"")
        file.sizes = self.sizes
        return file


def written(store: Store) -> int:
    """A file of 5,000 rows; its size."""
    rows = 5_000
    columns = {
        "_topic": pa.array(["t"] * rows),
        "_partition": pa.array([0] * rows, pa.int32()),
        "_offset": pa.array(range(rows), pa.int64()),
        "value": pa.array([str(hash((n, "x"))) for n in range(rows)]),
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    store.create(FINAL, sink.getvalue())
    return len(sink.getvalue())


@pytest.mark.parametrize("is_large", [False, True])
def test_a_small_file_is_read_once_and_a_large_one_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
    is_large: bool,
) -> None:
    store = CountingStore()
    size_bytes = written(store)
    monkeypatch.setattr(module, "CHUNK_BYTES", 16_384)
    monkeypatch.setattr(module, "WHOLE_BYTES", size_bytes - is_large)
    seen = check_file(store, FileOrder(final=FINAL, format=format_of_file(FINAL)))
    assert (seen.size_bytes, seen.rows.count, seen.unreadable) == (size_bytes, 5_000, "")
    assert store.sizes[0] == 16_384
    is_read_once = sum(store.sizes) == size_bytes
    assert is_read_once is not is_large
