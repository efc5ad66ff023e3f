"""The lake as others see it: Spark, DuckDB and pyarrow, none of them with our code.

The types have names that a file system or a reader could take for something else (M6).
"""

import json
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.model.names import decode_component
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import Landed, data_files, event, landed, mixed_feed, run_feeds

pytestmark = pytest.mark.xdist_group("kafka")

PLAIN = ["click", "view"]
ODD = [
    "../x", "../../etc/x", "a/b", "a\\b", ".", "..", "_hidden", ".hidden", "CON", "%2e", "%2E%2e",
    "nul\0byte", unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é"),
    "day=2026-01-01", " ", "*", "_penstock", "_tail", "x" * 300, "x" * 299 + "y", "日本",
    "\U0001f600",
]  # fmt: skip
Counts = Counter[tuple[str, str]]  # dataset, day


@pytest.fixture(scope="module")
def lake(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A lake with many datasets over three days, delivered in two runs, some of it broken."""
    client.create_topic("read-me", partitions=2)
    root = tmp_path_factory.mktemp("readers")
    number = 0
    for partition in (0, 1):
        records = []
        for kind in [*PLAIN * 10, *ODD]:
            number += 1
            records.append(event(kind, number, days_ago=number % 3))
        records += [json.dumps({"type": "", "n": 1}).encode(), b"{"]
        client.produce("read-me", partition, records)
        code, told = run_feeds(spark, kafka, LocalStore(root), mixed_feed("read-me"))
        assert code == 0, told
    return root


@pytest.fixture(scope="module")
def oracle(lake: Path, client: KafkaClient) -> Landed:
    return landed(lake, client, "read-me")


def test_m6_odd_type_names_stay_inside_visible_and_reversible(lake: Path, oracle: Landed) -> None:
    assert {path.name for path in lake.iterdir()} == {"_penstock", "events"}
    by_kind: dict[str, set[str]] = {}
    for row in oracle.data.values():
        by_kind.setdefault(row.columns["type"], set()).add(row.dataset)
    assert set(by_kind) == {*PLAIN, *ODD}
    assert all(len(names) == 1 for names in by_kind.values())
    names = {kind: names.pop() for kind, names in by_kind.items()}
    assert len(set(names.values())) == len(names)
    assert not any(name.startswith(("_", ".")) or "=" in name for name in names.values())
    assert all(len(name.encode()) <= 255 for name in names.values())
    for kind, name in names.items():
        assert decode_component(name) == (kind if len(kind) < 200 else None)
    assert {path.name for path in (lake / "events").iterdir()} == {*names.values(), "_tail"}
    assert Counter(row["reason"] for row in oracle.refused.values()) == {
        "ROUTE_MISSING": 2, "NOT_JSON": 2
    }  # fmt: skip


def by_oracle(oracle: Landed) -> Counts:
    """Rows per dataset and day, by the independent consumer."""
    return Counter((row.dataset, row.below.partition("=")[2]) for row in oracle.data.values())


def test_pyarrow_reads_every_dataset_as_the_oracle_does(lake: Path, oracle: Landed) -> None:
    counts: Counts = Counter()
    for name in oracle.datasets():
        table = ds.dataset(lake / "events" / name, partitioning="hive").to_table()
        days = pc.value_counts(table["day"].cast("string")).to_pylist()
        counts.update({(name, day["values"]): day["counts"] for day in days})
    assert counts == by_oracle(oracle)


def test_duckdb_reads_every_dataset_as_the_oracle_does(lake: Path, oracle: Landed) -> None:
    counts: Counts = Counter()
    with duckdb.connect() as connection:
        for name in oracle.datasets():
            files = f"{lake}/events/{name}/*/*.parquet"
            rows = connection.execute(
                "select day::varchar, count(*), count(distinct (_partition, _offset)), sum(n) "
                "from read_parquet(?, hive_partitioning = true) group by day",
                [files],
            ).fetchall()
            for day, count, places, total in rows:
                counts[name, day] = count
                assert count == places
                assert total == sum_of_n(oracle, name, day)
    assert counts == by_oracle(oracle)


def test_spark_reads_every_dataset_as_the_oracle_does(
    spark: SparkSession, lake: Path, oracle: Landed
) -> None:
    """Each by its directory; what is listed here stands for the others, since a read takes long."""
    counts: Counts = Counter()
    chosen = {*PLAIN, "../x", "..", "_hidden", "%2E%2e", "*", "日本"}
    for name in {row.dataset for row in oracle.data.values() if row.columns["type"] in chosen}:
        frame = spark.read.parquet(f"{lake}/events/{name}")
        rows: list[Any] = frame.groupBy(frame.day.cast("string")).count().collect()
        counts.update({(name, row[0]): row[1] for row in rows})
    wanted = by_oracle(oracle)
    names = {name for name, _ in counts}
    assert len(names) == len(chosen)
    assert counts == {key: count for key, count in wanted.items() if key[0] in names}


def sum_of_n(oracle: Landed, dataset: str, day: str) -> int:
    """A sum over contents, so that a reader cannot be right by counting alone."""
    rows = [
        row for row in oracle.data.values() if (row.dataset, row.below) == (dataset, f"day={day}")
    ]
    return sum(row.columns["n"] for row in rows)


def test_a_reader_of_the_whole_directory_sees_data_and_nothing_else(
    spark: SparkSession, lake: Path, oracle: Landed
) -> None:
    """What is not data lies below a name with an underscore, so that nobody reads it."""
    table = ds.dataset(lake / "events", format="parquet").to_table(
        columns=["_partition", "_offset"]
    )
    assert table.num_rows == len(oracle.data)
    assert len(data_files(lake)) == len(
        {(row.dataset, row.below, place[1]) for place, row in oracle.data.items()}
    )
    frame = spark.read.option("recursiveFileLookup", "true").parquet(f"{lake}/events")
    assert frame.select("_partition", "_offset").distinct().count() == len(oracle.data)


def test_the_oracle_itself_notices_what_is_doubled_lost_or_changed(
    lake: Path, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: no check that cannot fail. Method: doctor copies of a lake that it finds good."""

    def judge(name: str, doctor: Callable[[Path], object]) -> None:
        copy = Path(shutil.copytree(lake, tmp_path / name))
        landed(copy, client, "read-me")
        doctor(sorted((copy / "events" / "click").rglob("*.parquet"))[0])
        with pytest.raises(AssertionError):
            landed(copy, client, "read-me")

    judge("doubled", lambda path: shutil.copy(path, path.with_name(f"again-{path.name}")))
    judge("lost", lambda path: path.unlink())
    judge("changed", _change_a_value)


def _change_a_value(path: Path) -> None:
    """Same rows, same positions, and one other number."""
    table = pq.read_table(path, partitioning=None)
    numbers = table["n"].to_pylist()
    place = table.schema.get_field_index("n")
    changed = table.set_column(place, "n", [[numbers[0] + 1, *numbers[1:]]])
    pq.write_table(changed, path)
