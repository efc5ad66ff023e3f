"""A demo whose lake is in a bucket: what is watched, queried, refused and removed."""

import json
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.cli.main import main
from penstock.config.load import load
from penstock.demo.bucket_files import bucket_folder
from penstock.demo.bucket_watch import BucketOnlooker
from penstock.demo.errors import DemoRefused
from penstock.demo.folders import Folder, local_folder
from penstock.demo.hdfs_folder import hdfs_folder
from penstock.demo.lakes import DemoLake, lake_of
from penstock.demo.place import Place
from penstock.demo.queries import bucket_query_lines, hdfs_query_lines
from penstock.demo.watch import Sight
from penstock.model.layout import Layout
from penstock.model.staged import StagingSpot
from penstock.ports.store.list_keys import list_keys
from penstock.testing.hadoop_programs import write_xml
from penstock.testing.memory_store import MemoryStore

LAYOUT = Layout("events")


@pytest.fixture
def data(tmp_path: Path) -> Folder:
    """What a reader sees: two rows, and a file that it must not take for data."""
    for name in ("click/day=2026-11-09/a.parquet", "_tail/b.parquet"):
        path = tmp_path / "events" / name
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": [1, 2]}), path)
    return local_folder(tmp_path / "events")


def stage(store: MemoryStore, window: str, name: str) -> None:
    spot = StagingSpot(LAYOUT.staging, window, name)
    writer = store.open_staged(f"events/click/day=2026-11-09/{name}_{window}.parquet", spot)
    writer.write(b"rows")
    writer.finish()


def entry(body: dict[str, str]) -> bytes:
    return json.dumps({"body": body}).encode()


def a_lake() -> MemoryStore:
    store = MemoryStore()
    for number, window in enumerate(["", "1-1", "1-2"]):
        body = {"kind": "window", "window": window} if window else {"kind": "claim"}
        store.create(LAYOUT.entry(number), entry(body))
    store.create(LAYOUT.marker(1), b"{}")
    for window, name in (("1-2", "a"), ("1-3", "a"), ("1-3", "b")):
        stage(store, window, name)
    return store


def test_windows_and_open_uploads_are_seen(data: Folder) -> None:
    sight = BucketOnlooker(a_lake(), "events", data).look_closely()
    assert sight == Sight(("1-1",), ("1-2",), ("1-2", "1-3"), 3, 2)
    assert sight.in_flight == "1-3"


def test_all_that_the_demo_made_is_removed(data: Folder) -> None:
    store = a_lake()
    lake = DemoLake("s3://b/p", data, BucketOnlooker(store, "events", data), {}, store)
    lake.remove()
    assert list_keys(store, "") == []
    assert list(store.list_staged(LAYOUT.staging, LAYOUT.data_prefixes)) == []


def test_queries_name_the_endpoint_only_where_it_was_given() -> None:
    plain = bucket_query_lines("s3://b/p/events")
    assert set(plain) == {"duckdb", "pandas"}
    assert all('"s3://b/p/events/order"' in line for line in plain.values())
    other = bucket_query_lines("s3://b/p/events", "http://127.0.0.1:9000")["pandas"]
    assert "s3://b/p/events/order?scheme=http&endpoint_override=127.0.0.1:9000" in other
    compile(shlex.split(other)[2], "query", "exec")


def test_queries_of_a_lake_on_hdfs_need_no_java_but_that_of_spark() -> None:
    lines = hdfs_query_lines("hdfs://nn:8020/lakes/demo/events")
    assert set(lines) == {"duckdb", "pandas", "pyspark"}
    for name in ("duckdb", "pandas"):
        assert 'HdfsFileSystem("nn", 8020)' in lines[name]
        assert '"/lakes/demo/events/order"' in lines[name]
    assert '"hdfs://nn:8020/lakes/demo/events/order"' in lines["pyspark"]
    assert 'HdfsFileSystem("lakes", None)' in hdfs_query_lines("hdfs://lakes/demo/events")["duckdb"]
    for line in lines.values():
        compile(shlex.split(line)[2], "query", "exec")


def test_a_lake_on_hdfs_is_counted_by_a_client_that_knows_the_site(tmp_path: Path) -> None:
    """The name service stands in no other place; without it there would be no client at all."""
    write_xml(
        tmp_path / "hdfs-site.xml",
        {
            "dfs.nameservices": "lakes",
            "dfs.ha.namenodes.lakes": "nn1",
            "dfs.namenode.rpc-address.lakes.nn1": "127.0.0.1:1",
            "dfs.client.failover.max.attempts": "0",
        },
    )
    folder = hdfs_folder("hdfs://lakes/demo", {"config_dir": str(tmp_path)})
    with pytest.raises(OSError, match="onnection refused"):
        folder.files.get_file_info(folder.path)
    with pytest.raises(DemoRefused, match="does not look into a keytab"):
        hdfs_folder("hdfs://lakes/demo", {"keytab": "etl.keytab"})


def test_the_settings_are_in_the_configuration(tmp_path: Path) -> None:
    store = (("path_style", "true"), ("secret_key", "${env:KEY}"), ("access_key", "${env:ID}"))
    place = Place(tmp_path, "s3://b/a: 'p'", store)
    place.write_config("127.0.0.1:1", 100)
    lake = load(place.config, {}).lake
    assert (lake.uri, lake.settings) == ("s3://b/a: 'p'", dict(store))


def test_the_reader_has_an_address_without_a_scheme_and_keys_of_the_settings() -> None:
    given = {"endpoint": "http://127.0.0.1:9", "access_key": "a", "secret_key": "b"}
    folder = bucket_folder("s3://b/p", given) / "events"
    assert folder.path == "b/p/events"


def test_an_emulator_of_the_environment_is_where_other_readers_look_too(
    tmp_path: Path,
) -> None:
    """Google's client takes it from there; pyarrow would ask Google for a quarter of an hour."""
    environ = {"STORAGE_EMULATOR_HOST": "http://127.0.0.1:9"}
    place = Place(tmp_path, "gs://b/p", environ=environ)
    place.write_config("127.0.0.1:1", 100)
    lines = lake_of(place).queries
    assert lines
    wanted = "gs://anonymous@b/p/events/order?scheme=http&endpoint_override=127.0.0.1:9"
    assert all(wanted in line for line in lines.values())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--lake", "ftp://b/p"], "cannot read 'ftp://b/p'"),
        (["--lake", "/data/lake"], "a directory is given by --dir"),
        (["--store", "path_style=true"], "--store is for a lake that --lake names"),
        (["--lake", "s3://b/p", "--store", "path_style"], "--store takes KEY=VALUE"),
        (["--lake", "s3://b/p", "--store", "secret_key=abc"], "a secret in plain text"),
        (["--lake", "s3://b/p", "--store", "colour=red"], "has no setting 'colour'"),
    ],
)
def test_a_lake_that_cannot_be_is_refused_before_anything_starts(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", *words]) == 2
    assert said in capsys.readouterr().err
