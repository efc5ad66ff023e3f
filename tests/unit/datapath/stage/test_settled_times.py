"""Columns of times in any form: what is a time, and what goes to `_rest` as it was written."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.datapath.stage.settled_times import read_as, rest_with, with_times
from penstock.model.read_ways import Misfits
from penstock.model.schema import (
    INT64,
    TEXT_OF_JSON,
    TIME_OF_SCALARS,
    DatasetSchema,
    struct_of,
    with_columns,
)

USER = struct_of(with_columns([("born", TIME_OF_SCALARS, True), ("n", INT64, True)], top=False))
SCHEMA = DatasetSchema(
    "d", 1, False, with_columns([("at", TIME_OF_SCALARS, True), ("user", USER, True)], top=True)
)
MOMENT = datetime(2026, 11, 15, 7, 5, tzinfo=UTC)


def read(*payloads: bytes, zone: str = "UTC") -> tuple[list[dict[str, Any]], Misfits]:
    decoded = JsonDecoder().decode(pa.array(payloads, pa.binary()), read_as(SCHEMA))
    assert decoded.bad == []
    batch, misfits = with_times(SCHEMA, decoded.batch, ZoneInfo(zone))
    batch.validate(full=True)
    assert batch.schema == arrow_schema(SCHEMA)
    return batch.to_pylist(), misfits


@pytest.mark.parametrize(
    "written",
    [
        '"2026-11-15T07:05:00Z"',
        '"2026-11-15T08:05:00+01:00"',
        '"2026-11-15 07:05"',
        '"2026-11-15T07\\u003a05:00Z"',
        "1794726300",
        "1794726300000",
        "1794726300000000",
        "1794726300000000000",
        "1794726300.0",
        "1.7947263e9",
        '"1794726300"',
    ],
)
def test_a_text_or_a_number_is_a_time(written: str) -> None:
    rows, misfits = read(b'{"at":%s}' % written.encode())
    assert (rows, misfits) == ([{"at": MOMENT, "user": None, "_rest": None}], {})


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ('"yesterday"', "string"),
        ('""', "string"),
        ("true", "boolean"),
        ("[1]", "array"),
        ('{ "s": 1 }', "object"),
        ("1e400", "fraction"),
        ("99999999999999999999999999", "integer"),
        ('"10000-01-01T00:00:00Z"', "string"),
    ],
)
def test_what_is_not_a_time_goes_to_the_rest_as_it_was_written(written: str, found: str) -> None:
    rows, misfits = read(b'{"at":1794726300}', b'{"at": %s }' % written.encode())
    assert rows[1] == {"at": None, "user": None, "_rest": f'{{"at":{written}}}'}
    assert misfits == {("at", "timestamp", found): (1, 1)}


def test_times_inside_objects_keep_their_place_in_the_rest() -> None:
    rows, misfits = read(
        b'{"user":{"born":"2026-11-15T07:05:00Z","n":1},"at":null}',
        b'{"user":{"born":"long ago","n":"x","new":[1]},"at":"?"}',
        b'{"user":null}',
    )
    assert rows[0] == {"at": None, "user": {"born": MOMENT, "n": 1}, "_rest": None}
    rest = '{"user":{"n":"x","new":[1],"born":"long ago"},"at":"?"}'
    assert rows[1] == {"at": None, "user": {"born": None, "n": None}, "_rest": rest}
    assert rows[2] == {"at": None, "user": None, "_rest": None}
    assert set(misfits) == {("user.born", "timestamp", "string"), ("at", "timestamp", "string")}


def test_a_text_without_an_offset_is_in_the_zone_of_the_feed() -> None:
    rows, _ = read(b'{"at":"2026-11-15T08:05:00"}', zone="Europe/Berlin")
    assert rows[0]["at"] == MOMENT


def test_a_schema_without_such_times_is_read_as_it_is() -> None:
    plain = DatasetSchema("d", 1, False, with_columns([("a", INT64, True)], top=True))
    assert read_as(plain) is plain
    assert read_as(SCHEMA).fields[0].type == TEXT_OF_JSON


def test_a_rest_takes_one_more_value() -> None:
    assert rest_with(None, ("a", "b"), "1.50") == '{"a":{"b":1.50}}'
    assert rest_with('{"a":{"c":1}}', ("a", "b"), '"x"') == '{"a":{"c":1,"b":"x"}}'
