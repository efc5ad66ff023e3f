"""The routes and partition values that Penstock brings keep their contracts."""

from collections.abc import Callable

import numpy as np
import pytest

from penstock.api.records import RecordContext, Records
from penstock.datapath.shape.route.builtin_partitions import FieldValue, TimePiece
from penstock.datapath.shape.route.builtin_routes import (
    FieldRoute,
    HeaderRoute,
    SchemaRoute,
    TopicRoute,
)
from penstock.datapath.shape.route.directories import partition_directories
from penstock.model.spec import PartitionKey
from penstock.testing.contracts.per_record import PartitionContract, RouteContract
from penstock.testing.sample_records import sample_records

VALUES = [b"a", b"b", None, b"d"]
HEADERS: list[list[tuple[str, bytes | None]]] = [
    [("type", b"x"), ("type", b"y")],
    [("type", None)],
    [],
    [("other", b"z"), ("type", b"\xff")],
]


class TestTopicRoute(RouteContract):
    """By topic."""

    @pytest.fixture
    def make(self) -> Callable[[], TopicRoute]:
        return TopicRoute

    @pytest.fixture
    def records(self) -> Records:
        return sample_records(VALUES)


class TestHeaderRoute(RouteContract):
    """By header."""

    @pytest.fixture
    def make(self) -> Callable[[], HeaderRoute]:
        return lambda: HeaderRoute("type")

    @pytest.fixture
    def records(self) -> Records:
        return sample_records(VALUES, headers=HEADERS)

    def test_the_first_header_counts(self, records: Records) -> None:
        assert HeaderRoute("type").datasets(records) == ["x", None, None, None]
        assert records.headers.to_pylist()[0] == [
            {"key": "type", "value": b"x"},
            {"key": "type", "value": b"y"},
        ]


class TestFieldRoute(RouteContract):
    """By field."""

    @pytest.fixture
    def make(self) -> Callable[[], FieldRoute]:
        return lambda: FieldRoute("meta.type")

    @pytest.fixture
    def records(self) -> Records:
        return sample_records(VALUES, fields={"meta.type": ["x", "", None, "ä"]})


class TestSchemaRoute(RouteContract):
    """By the name of the schema."""

    @pytest.fixture
    def make(self) -> Callable[[], SchemaRoute]:
        return SchemaRoute

    @pytest.fixture
    def records(self) -> Records:
        return sample_records(VALUES, context=RecordContext(schema_name="shop.Click"))

    def test_records_without_a_schema_have_no_name(self) -> None:
        assert SchemaRoute().datasets(sample_records(VALUES)) == [None] * 4


class TestTimePiece(PartitionContract):
    """Pieces of the event time."""

    @pytest.fixture(params=["day", "hour", "minute"])
    def kind(self, request: pytest.FixtureRequest) -> str:
        found: str = request.param
        return found

    @pytest.fixture
    def make(self, kind: str) -> Callable[[], TimePiece]:
        return lambda: TimePiece(kind)

    @pytest.fixture
    def records(self) -> Records:
        micros = np.array([0, 86_399_999_999, 1_800_000_000_000_000, 1_800_003_700_000_000])
        context = RecordContext(zone="Europe/Berlin", event_times=micros)
        return sample_records(VALUES, context=context)

    def test_the_texts_are_those_of_directories(self, kind: str, records: Records) -> None:
        """Goal: what tasks do in one go says the same. Method: compare with directories."""
        micros = records.event_times.cast("int64").to_numpy(zero_copy_only=False)
        keys = (PartitionKey("day"), PartitionKey("hour"), PartitionKey("minute"))
        found = partition_directories(micros, keys, records.zone, {})
        levels = [dict(p.split("=") for p in path.split("/")) for path in found.paths]
        wanted = [levels[code][kind] for code in found.codes]
        assert TimePiece(kind).texts(records) == wanted


class TestFieldValue(PartitionContract):
    """The value of a field."""

    @pytest.fixture
    def make(self) -> Callable[[], FieldValue]:
        return lambda: FieldValue("n")

    @pytest.fixture
    def records(self) -> Records:
        return sample_records(VALUES, fields={"n": ["x", 1, None, True]})

    def test_the_texts_are_those_of_directories(self, records: Records) -> None:
        key = PartitionKey("field", "n")
        found = partition_directories(np.zeros(4, np.int64), (key,), "UTC", records.fields)
        assert [found.paths[code] for code in found.codes] == [
            "by_n=x",
            "by_n=1",
            "by_n=__HIVE_DEFAULT_PARTITION__",
            "by_n=true",
        ]
        assert FieldValue("n").texts(records) == ["x", "1", None, "true"]
