"""The contract of file formats, on those that are built in."""

import pickle

import pyarrow as pa
import pytest

from penstock.api.doors import FORMATS
from penstock.api.file_format import FileFormat
from penstock.api.find import find, offers
from penstock.testing.contracts.file_format import FileFormatContract


class TestAvro(FileFormatContract):
    @pytest.fixture
    def form(self) -> FileFormat:
        return find(FORMATS, "avro")


class TestJsonLines(FileFormatContract):
    @pytest.fixture
    def form(self) -> FileFormat:
        return find(FORMATS, "jsonl")

    @pytest.fixture
    def unfit_rows(self) -> tuple[pa.RecordBatch, list[int], list[int]]:
        """Numbers that are none, and years that ISO 8601 has no four digits for."""
        batch = pa.RecordBatch.from_pydict(
            {
                "x": [0.5, float("nan"), None, -0.0, 1.0, 1.0, 1.0],
                "list": [[1.0], [], [float("-inf")], None, [], [], []],
                "at": pa.array([0, 0, 0, 2**62, 0, None, 0], pa.timestamp("us")),
                "day": pa.array([0, 0, 0, 0, 2**30, 0, 0], pa.int32()).cast(pa.date32()),
            }
        )
        return batch, [0, 0, 0, 0, 0, 2**50, -1], [1, 2, 3, 4, 5]


class TestParquet(FileFormatContract):
    @pytest.fixture
    def form(self) -> FileFormat:
        return find(FORMATS, "parquet")


class TestOrc(FileFormatContract):
    @pytest.fixture
    def form(self) -> FileFormat:
        return find(FORMATS, "orc")

    @pytest.fixture
    def unfit_rows(self) -> tuple[pa.RecordBatch, list[int], list[int]]:
        """Times before 1970 with a fraction of a second, as a field, inside one, and of Kafka."""
        moment = pa.timestamp("us", tz="UTC")
        batch = pa.RecordBatch.from_pydict(
            {
                "at": pa.array([0, -1, None, -1_000_000, 5, 7], moment),
                "list": pa.array([[1], [], [0, -5], None, [], [2]], pa.list_(moment)),
            }
        )
        return batch, [0, 0, 0, -1_000, -1, 9], [1, 2, 4]


def test_every_built_in_format_is_tried_here() -> None:
    assert [each.name for each in offers(FORMATS)] == ["avro", "jsonl", "orc", "parquet"]


@pytest.mark.parametrize("name", ["avro", "jsonl", "orc", "parquet"])
def test_a_format_is_the_same_value_after_a_journey(name: str) -> None:
    form = find(FORMATS, name)
    assert pickle.loads(pickle.dumps(form)) is form
