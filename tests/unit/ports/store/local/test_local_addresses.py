"""Addresses of local files are taken by pyarrow and DuckDB, whatever characters are in them."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from penstock.ports.store.local.local_store import LocalStore

NAMES = ["plain", "k=v", "a%3Ab", "100%", "a space", "a:b", "é", "x+y", "a#b", "it's", "a&b;c"]


@pytest.mark.parametrize("name", NAMES)
def test_readers_take_the_address(tmp_path: Path, name: str) -> None:
    store = LocalStore(tmp_path)
    key = f"feed/{name}/0_t_0_0-1_1-1.zstd.parquet"
    (tmp_path / key).parent.mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), tmp_path / key)
    address = store.uri(key)
    assert pq.read_table(address, partitioning=None).num_rows == 1
    assert ds.dataset(address).count_rows() == 1
    quoted = address.replace("'", "''")
    with duckdb.connect() as readers:
        found = readers.execute(f"select count(*) from read_parquet('{quoted}')").fetchall()
    assert found == [(1,)]


def test_an_address_says_its_scheme_wherever_readers_agree(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "lake")
    assert store.uri("f/day=2026-11-15/0_t_0..3_g0_1-1.zstd.parquet").startswith("file:///")
    assert store.uri("f/by_x=a%3Ab/file").startswith("/")
