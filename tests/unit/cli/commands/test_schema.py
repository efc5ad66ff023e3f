"""`penstock schema`: versions of a dataset's columns, and statements for those who read them."""

import json
from pathlib import Path

import duckdb
import msgspec
import pytest

from penstock.cli.commands.schema import changes
from penstock.cli.main import main
from penstock.datapath.formats.avro.avro import FORMAT as AVRO
from penstock.datapath.formats.jsonl.jsonl import FORMAT as JSONL
from penstock.datapath.formats.orc.orc import FORMAT as ORC
from penstock.datapath.formats.parquet.parquet import FORMAT as PARQUET
from penstock.datapath.schemas.dataset_schemas import DatasetSchemas
from penstock.datapath.schemas.ddl import DIALECTS, Dialect, columns_of, ddl, own_columns, type_name
from penstock.datapath.shape.route.directories import keys_as_read
from penstock.datapath.stage.shred_plan import Samples
from penstock.model.convert_spec import Condition, ConvertSpec
from penstock.model.fork import ForkSpec
from penstock.model.layout import Layout
from penstock.model.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT64,
    STRING,
    TIMESTAMP_MS,
    TIMESTAMP_US,
    DatasetSchema,
    FieldType,
    decimal_of,
    list_of,
    map_of,
    struct_of,
)
from penstock.model.schema_merging import first_version, merged
from penstock.model.spec import FeedSpec, PartitionKey
from penstock.ports.store.list_keys import list_keys
from tests.helpers.lakes_on_disk import DiskLake
from tests.helpers.schema_fields import fields
from tests.helpers.shredding import BY_TYPE, an_event, learned, shred
from tests.simulator.programs import FEED

ONE = first_version(fields(id=INT64, day=STRING, who=struct_of(fields(name=STRING))))
TWO = merged(ONE, fields(id=(INT64, True), day=STRING, who=struct_of(fields(age=INT64))))
EVERY = fields(
    b=BOOLEAN,
    i=INT64,
    d=DOUBLE,
    s=STRING,
    x=BINARY,
    t=DATE,
    z=TIMESTAMP_US,
    n=FieldType("local_us"),
    e=decimal_of(10, 2),
    li=list_of(struct_of(fields(a=INT64))),
    m=map_of(DOUBLE),
)


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    found = DiskLake(tmp_path)
    found.room([]).journal()
    for version, known in ((1, ONE), (2, TWO)):
        schema = DatasetSchema("click", version, declared=False, fields=known)
        key = f"{Layout(FEED).schemas}/click/{version:06}.json"
        found.store.create(key, msgspec.json.encode(schema))
    return found


def said(lake: DiskLake, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(lake.words("schema", *words)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_the_columns_are_shown_with_the_fields_they_come_from(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    out = said(lake, capsys, "show", f"{FEED}/click")
    assert out.splitlines()[0] == "version 2, learned from records"
    rows = [line.split() for line in out.splitlines()[2:]]
    assert ["id", "yes", "bigint"] in rows
    assert ["day_", "no", "day", "string"] in rows
    assert "version 1" in said(lake, capsys, "show", f"{FEED}/click", "--version", "1")
    [found] = [json.loads(said(lake, capsys, "show", f"{FEED}/click", "--output", "json"))]
    assert msgspec.convert(found, DatasetSchema) == DatasetSchema("click", 2, False, TWO)


def test_a_long_type_widens_no_line_but_its_own(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    deep = fields(id=INT64, who=struct_of(fields(**{f"member_{n}": STRING for n in range(30)})))
    schema = DatasetSchema("deep", 1, declared=False, fields=first_version(deep))
    lake.store.create(f"{Layout(FEED).schemas}/deep/000001.json", msgspec.json.encode(schema))
    heading, *rows = said(lake, capsys, "show", f"{FEED}/deep").splitlines()[1:]
    assert [len(row) > 80 for row in rows] == [False, True, False]
    assert len(heading) < 80


def test_a_feed_alone_means_all_of_its_datasets(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = DatasetSchema("view", 1, declared=True, fields=first_version(fields(url=STRING)))
    lake.store.create(f"{Layout(FEED).schemas}/view/000001.json", msgspec.json.encode(schema))
    out = said(lake, capsys, "show", FEED)
    assert "click: version 2, learned from records\n" in out
    assert "view: version 1, declared\n" in out
    shown = said(lake, capsys, "show", FEED, "--output", "json").splitlines()
    assert [json.loads(line)["dataset"] for line in shown] == ["click", "view"]
    assert said(lake, capsys, "show", FEED, "--ddl", "spark").count("CREATE TABLE") == 2
    rows = said(lake, capsys, "history", FEED, "--output", "json").splitlines()
    assert [json.loads(line)["dataset"] for line in rows] == ["click", "click", "view"]
    rows = said(lake, capsys, "diff", FEED, "--output", "json").splitlines()
    assert {json.loads(line)["dataset"] for line in rows} == {"click", "view"}
    for words in (("show", FEED, "--version", "1"), ("diff", FEED, "1")):
        assert main(lake.words("schema", *words)) == 2
        assert "A version is that of one dataset" in capsys.readouterr().err


def test_names_that_could_drive_a_terminal_are_escaped(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = first_version(fields(**{"a\nb": INT64, "\x1b[2J": STRING, "\u202e": STRING}))
    schema = DatasetSchema("odd", 1, declared=False, fields=odd)
    lake.store.create(f"{Layout(FEED).schemas}/odd/000001.json", msgspec.json.encode(schema))
    for words in (("show",), ("diff",), ("history",)):
        out = said(lake, capsys, *words, f"{FEED}/odd")
        assert all(line.isprintable() for line in out.splitlines()), out
    shown = said(lake, capsys, "show", f"{FEED}/odd").splitlines()[2:]
    assert [line.split()[0] for line in shown] == ["a\\nb", "\\x1b[2J", "\\u202e", "_rest"]


def test_a_difference_names_what_is_new_and_what_may_be_null(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ((), ("1",), ("1", "2")):
        out = said(lake, capsys, "diff", f"{FEED}/click", *words)
        assert [line.split()[:2] for line in out.splitlines()[1:]] == [
            ["nullable", "id"],
            ["nullable", "who.name"],
            ["added", "who.age"],
        ]


def test_the_history_has_every_version(lake: DiskLake, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(lake, capsys, "history", f"{FEED}/click")
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["1", "3", "all"],
        ["2", "3", "?id", "?who.name", "+who.age"],
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("show", f"{FEED}/"), "does not name a dataset"),
        (("show", f"{FEED}/nothing"), "It has: click"),
        (("show", f"{FEED}/click", "--version", "3"), "has no version 3"),
        (("show", f"{FEED}/click", "--version", "0"), "has no version 0"),
        (("diff", f"{FEED}/click", "1", "2", "3"), "More than two"),
    ],
)
def test_what_is_not_there_is_told(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], why: str
) -> None:
    assert main(lake.words("schema", *words)) == 2
    assert why in capsys.readouterr().err


def test_looking_at_a_schema_writes_nothing(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    before = list_keys(lake.store, "")
    said(lake, capsys, "show", f"{FEED}/click")
    assert list_keys(lake.store, "") == before


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_type_has_a_name_in_every_dialect(dialect: str) -> None:
    schema = DatasetSchema("click", 1, declared=True, fields=EVERY)
    place = "/lake/events/click"
    statement = ddl(schema, dialect, place, ("day",), form=PARQUET)  # type: ignore[arg-type]
    assert statement.count("\n") > len(EVERY)
    for name, kind in columns_of(schema, dialect):  # type: ignore[arg-type]
        assert name in statement
        assert kind in statement


def test_names_are_quoted_so_that_they_end_nothing() -> None:
    odd = DatasetSchema("a", 1, declared=True, fields=fields(**{'x`y"z': INT64}))
    assert '`x``y"z` bigint' in ddl(odd, "spark", "/l", (), form=PARQUET)
    assert '"x`y""z" bigint' in ddl(odd, "trino", "/l", (), form=PARQUET)


@pytest.mark.parametrize("dialect", ["spark", "hive", "trino"])
def test_a_table_has_every_column_of_the_files(dialect: Dialect) -> None:
    forks = (ForkSpec("big", (Condition("n", least=2),)),)
    include = ("key", "headers", "window")
    feed = msgspec.structs.replace(BY_TYPE, include=include, forks=forks)
    values = [an_event("a", n=3)]
    schemas = learned(*values, an_event("big", n=3))
    (file,) = shred(feed, values, schemas).files("a")
    found = columns_of(schemas["a"], dialect, own_columns(feed))
    assert sorted(name for name, _ in found) == sorted(file.schema_arrow.names)
    plain = shred(BY_TYPE, values, schemas).files("a")[0].schema_arrow.names
    assert [name for name, _ in columns_of(schemas["a"], dialect, own_columns(BY_TYPE))] == plain


def test_trino_has_one_precision_of_timestamps() -> None:
    schema = DatasetSchema("a", 1, declared=True, fields=EVERY)
    kinds = {kind for _, kind in columns_of(schema, "trino") if "timestamp" in kind}
    assert kinds == {"timestamp(6)"}


@pytest.mark.parametrize(
    ("dataset", "table"),
    [
        ("shop.orders", "shop_orders"),
        ("page-view", "page_view"),
        ("a%20b", "a_20b"),
        ("a_1", "a_1"),
    ],
)
def test_a_table_has_a_name_that_catalogs_take(dataset: str, table: str) -> None:
    schema = DatasetSchema(dataset, 1, declared=True, fields=EVERY)
    assert f"TABLE `{table}` (" in ddl(schema, "spark", "/l", (), form=PARQUET)
    assert f'TABLE "{table}" (' in ddl(schema, "trino", "/l", (), form=PARQUET)


def test_texts_are_quoted_so_that_they_end_nothing() -> None:
    schema = DatasetSchema("a", 1, declared=True, fields=EVERY)
    place, levels = "/o'brien\\x", ("by_it's",)
    for dialect in ("spark", "hive"):
        assert "LOCATION '/o\\'brien\\\\x';" in ddl(schema, dialect, place, levels, form=PARQUET)
    options = "external_location = '/o''brien\\x', format = 'PARQUET', "
    assert f"{options}partitioned_by = ARRAY['by_it''s']" in ddl(
        schema, "trino", place, levels, form=PARQUET
    )


def test_partitions_are_named_as_readers_name_them() -> None:
    keys = (PartitionKey(), PartitionKey("field", "geo.it's"), PartitionKey("field", "a=b%"))
    assert keys_as_read(keys) == ("day", "by_it's", "by_a=b%")


def test_a_comment_says_what_makes_directories_known() -> None:
    schema = DatasetSchema("page-view", 1, declared=True, fields=EVERY)

    def last(dialect: Dialect, *levels: str) -> str:
        return ddl(schema, dialect, "/l", levels, form=PARQUET).splitlines()[-1]

    assert last("spark", "day") == last("hive", "day") == "-- MSCK REPAIR TABLE `page_view`;"
    call = "-- CALL system.sync_partition_metadata('<schema>', 'page_view', 'ADD'"
    assert last("trino", "day") == f"{call});"
    assert last("trino", "day", "by_Land") == f"{call}, false);"
    assert not last("hive").startswith("--")


def test_the_types_that_trino_shares_with_duckdb_are_understood_by_it() -> None:
    """The only reader of such words that runs here; rows and timezones differ."""
    for field in EVERY:
        if field.column in {"b", "i", "d", "s", "t", "e"}:
            duckdb.execute(f"select null::{type_name(field.type, 'trino')}").fetchall()


def test_no_change_is_no_line() -> None:
    assert changes(TWO, TWO) == []


def test_every_kind_of_change_is_told() -> None:
    inner = list_of(struct_of(fields(t=TIMESTAMP_US)))
    before = fields(a=(INT64, True), l=list_of(INT64, False), t=TIMESTAMP_US, m=map_of(inner))
    inner = list_of(struct_of(fields(t=TIMESTAMP_MS, u=INT64)), False)
    after = fields(a=INT64, l=list_of(INT64), t=TIMESTAMP_MS, m=map_of(inner))
    assert changes(before, after) == [
        ("required", "a", "bigint"),
        ("nullable", "l[]", "bigint"),
        ("unit", "t", "timestamp in ms"),
        ("required", "m[][]", type_name(inner.item or INT64)),
        ("unit", "m.t", "timestamp in ms"),
        ("added", "m.u", "bigint"),
    ]


def test_a_version_that_is_only_declared_says_so(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    third = fields(id=INT64, day=STRING, who=struct_of(fields(name=STRING, age=INT64)))
    for version, known in ((3, TWO), (4, third)):
        schema = DatasetSchema("click", version, declared=True, fields=first_version(known))
        key = f"{Layout(FEED).schemas}/click/{version:06}.json"
        lake.store.create(key, msgspec.json.encode(schema))
    out = said(lake, capsys, "diff", f"{FEED}/click", "2", "3")
    assert [line.split() for line in out.splitlines()[1:]] == [["declared"]]
    out = said(lake, capsys, "history", f"{FEED}/click")
    changed = [line.split()[2:] for line in out.splitlines()[3:]]
    assert changed == [["declared"], ["!id", "!who.name", "!who.age"]]


def test_what_is_shown_is_what_files_have_after_converting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = DiskLake(tmp_path)
    lake.room([]).journal()
    steps = (ConvertSpec("rename", ("who",), ("email",)), ConvertSpec("mask", ("email",), ("",)))
    feed = FeedSpec(name=FEED, topics=("events",), convert=steps)
    shelf = DatasetSchemas(lake.store, Layout(FEED), feed)
    shelf.learn([Samples("click", True, (b'{"who": 7, "n": 1}',))])
    shelf.learn([Samples("click", False, (b'{"who": 7, "n": 1, "page": "/"}',))])
    assert main(lake.words("schema", "show", f"{FEED}/click", "--ddl", "spark")) == 0
    statement = capsys.readouterr().out
    assert "`email` string" in statement
    assert "`who`" not in statement
    assert main(lake.words("schema", "history", f"{FEED}/click", "--output", "json")) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["version"], row["changes"]) for row in rows] == [(1, "all"), (2, "+page")]


def test_a_table_of_orc_files_says_so_and_has_their_types_of_time() -> None:
    times = fields(at=FieldType("timestamp_us"), wall=FieldType("local_us"))
    schema = DatasetSchema("click", 1, declared=True, fields=times)
    spark = ddl(schema, "spark", "/l", (), form=ORC)
    assert "USING ORC\n" in spark
    assert "`at` timestamp,\n  `wall` timestamp,\n" in spark
    hive = ddl(schema, "hive", "/l", (), form=ORC)
    assert "STORED AS ORC\n" in hive
    assert "`at` timestamp with local time zone,\n  `wall` timestamp,\n" in hive
    trino = ddl(schema, "trino", "/l", (), form=ORC)
    assert "format = 'ORC'" in trino
    assert '"at" timestamp(6) with time zone,\n  "wall" timestamp(6),\n' in trino


def test_a_table_of_avro_files_has_their_names_and_their_types_of_time() -> None:
    inner = struct_of(fields(**{"x y": STRING}))
    odd = {"a b": FieldType("int64"), "at": FieldType("timestamp_us"), "in": inner}
    schema = DatasetSchema("click", 1, declared=True, fields=fields(**odd))
    spark = ddl(schema, "spark", "/l", (), form=AVRO)
    assert "USING AVRO\n" in spark
    assert "`a_x20b` bigint,\n  `at` timestamp,\n  `in` struct<`x_x20y`: string>,\n" in spark
    hive = ddl(schema, "hive", "/l", (), form=AVRO)
    assert "STORED AS AVRO\n" in hive
    assert "`at` bigint" in hive
    assert "`_timestamp` timestamp" in hive
    trino = ddl(schema, "trino", "/l", (), form=AVRO)
    assert "format = 'AVRO'" in trino
    assert '"at" bigint' in trino
    assert '"_timestamp" timestamp(3)' in trino


def test_a_table_of_json_lines_keeps_names_and_types() -> None:
    schema = DatasetSchema("click", 1, declared=True, fields=fields(**{"a b": STRING}))
    statement = ddl(schema, "spark", "/l", (), form=JSONL)
    assert "USING JSON\n" in statement
    assert "`a b` string" in statement
    assert set(JSONL.table_clauses) == {"spark"}
