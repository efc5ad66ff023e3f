"""`penstock schema`: versions of a dataset's columns, and statements for those who read them."""

import json
from pathlib import Path

import duckdb
import msgspec
import pytest

from penstock.cli.main import main
from penstock.cli.schema import changes
from penstock.engine.schemas import SchemaShelf
from penstock.journal.layout import Layout
from penstock.model.convert import ConvertSpec
from penstock.model.ddl import DIALECTS, columns_of, ddl, type_name
from penstock.model.merging import first_version, merged
from penstock.model.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT64,
    STRING,
    TIMESTAMP_US,
    DatasetSchema,
    FieldType,
    decimal_of,
    list_of,
    map_of,
    struct_of,
)
from penstock.model.spec import FeedSpec
from penstock.writer.plan import Samples
from tests.simulator.programs import FEED
from tests.unit.on_disk import DiskLake
from tests.unit.test_merging import fields

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
    assert ["id", "bigint", "yes"] in rows
    assert ["day_", "string", "no", "day"] in rows
    assert "version 1" in said(lake, capsys, "show", f"{FEED}/click", "--version", "1")
    [found] = [json.loads(said(lake, capsys, "show", f"{FEED}/click", "--output", "json"))]
    assert msgspec.convert(found, DatasetSchema) == DatasetSchema("click", 2, False, TWO)


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
        (("show", FEED), "names no dataset"),
        (("show", f"{FEED}/nothing"), "It has: click"),
        (("show", f"{FEED}/click", "--version", "3"), "has no version 3"),
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
    before = lake.store.list_after("")
    said(lake, capsys, "show", f"{FEED}/click")
    assert lake.store.list_after("") == before


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_type_has_a_name_in_every_dialect(dialect: str) -> None:
    schema = DatasetSchema("click", 1, declared=True, fields=EVERY)
    statement = ddl(schema, dialect, "click", "/lake/events/click", ("day",))  # type: ignore[arg-type]
    assert statement.count("\n") > len(EVERY)
    for name, kind in columns_of(schema, dialect):  # type: ignore[arg-type]
        assert name in statement
        assert kind in statement


def test_names_are_quoted_so_that_they_end_nothing() -> None:
    odd = DatasetSchema("a", 1, declared=True, fields=fields(**{'x`y"z': INT64}))
    assert '`x``y"z` bigint' in ddl(odd, "spark", "a", "/l", ())
    assert '"x`y""z" bigint' in ddl(odd, "trino", "a", "/l", ())


def test_the_types_that_trino_shares_with_duckdb_are_understood_by_it() -> None:
    """The only reader of such words that runs here; rows and timezones differ."""
    for field in EVERY:
        if field.column in {"b", "i", "d", "s", "t", "e"}:
            duckdb.execute(f"select null::{type_name(field.type, 'trino')}").fetchall()


def test_no_change_is_no_line() -> None:
    assert changes(TWO, TWO) == []


def test_what_is_shown_is_what_files_have_after_converting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = DiskLake(tmp_path)
    lake.room([]).journal()
    steps = (ConvertSpec("rename", ("who",), ("email",)), ConvertSpec("mask", ("email",), ("",)))
    feed = FeedSpec(name=FEED, topics=("events",), convert=steps)
    shelf = SchemaShelf(lake.store, Layout(FEED), feed)
    shelf.learn([Samples("click", True, (b'{"who": 7, "n": 1}',))])
    shelf.learn([Samples("click", False, (b'{"who": 7, "n": 1, "page": "/"}',))])
    assert main(lake.words("schema", "show", f"{FEED}/click", "--ddl", "spark")) == 0
    statement = capsys.readouterr().out
    assert "`email` string" in statement
    assert "`who`" not in statement
    assert main(lake.words("schema", "history", f"{FEED}/click", "--output", "json")) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["version"], row["changes"]) for row in rows] == [(1, "all"), (2, "+page")]
