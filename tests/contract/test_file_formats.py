"""The contract of file formats, on those that are built in."""

import pickle

import pyarrow as pa
import pytest

from penstock.api.doors import FORMATS
from penstock.api.file_format import VALUE, FileFormat, WriteOptions
from penstock.api.find import find, offers
from penstock.testing.contracts.file_format import FileFormatContract
from penstock.testing.contracts.file_format_rows import written
from penstock.testing.contracts.record_file_format import (
    RecordFileFormatContract,
    read_again,
    some_records,
)

NAMES = [
    "avro", "jsonl", "orc", "parquet",
    "sequencefile", "sequencefile-msgpack", "text", "text-escaped",
]  # fmt: skip


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


class TestSequenceFile(RecordFileFormatContract):
    @pytest.fixture
    def form(self) -> FileFormat:
        return find(FORMATS, "sequencefile")


class TestSequenceFileWithKafkaKeys(RecordFileFormatContract):
    @pytest.fixture
    def form(self) -> FileFormat:
        return find(FORMATS, "sequencefile-msgpack")


class TestText(RecordFileFormatContract):
    @pytest.fixture
    def form(self) -> FileFormat:
        return find(FORMATS, "text")

    @pytest.fixture
    def unfit_values(self) -> list[bytes | None]:
        """What is not one line, and what readers would unpack if it came first."""
        return [None, b"\n", b"a\nb", b"a\r", b"\x1f\x8bx", b"(\xb5/\xfd"]


class TestEscapedText(RecordFileFormatContract):
    @pytest.fixture
    def form(self) -> FileFormat:
        return find(FORMATS, "text-escaped")

    @pytest.fixture
    def unfit_values(self) -> list[bytes | None]:
        return [None, b"\x1f\x8bx"]

    def test_line_ends_and_backslashes_come_back(self, form: FileFormat) -> None:
        values = [b"\n", b"\\n", b"a\r\n\\", b"\\\\", b'{"a": "\\n"}', b""]
        raw = written(form, some_records(values), options=WriteOptions("none"))
        assert raw.count(b"\n") == len(values)
        assert b"\r" not in raw
        assert read_again(form, raw)[VALUE] == values


def test_every_built_in_format_is_tried_here() -> None:
    assert [each.name for each in offers(FORMATS)] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_format_is_the_same_value_after_a_journey(name: str) -> None:
    form = find(FORMATS, name)
    assert pickle.loads(pickle.dumps(form)) is form
