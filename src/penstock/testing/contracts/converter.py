# ruff: noqa: S101  -- these are tests; they assert
"""The contract of converters of both kinds, as a test class to inherit from.

class TestMyConverter(ConverterContract):
    @pytest.fixture
    def make(self) -> Callable[[], RecordConverter]:
        return lambda: MyConverter(ending="!")

    @pytest.fixture
    def batch(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([{"name": "ann"}, {"name": None}])
"""

from collections.abc import Callable
from importlib import import_module

import pyarrow as pa

from penstock.api.converter import BatchConverter, ConvertedBatch, RecordConverter
from penstock.datapath.shape.convert.plugins import converted

Converter = RecordConverter | BatchConverter


def _rows(found: ConvertedBatch) -> dict[int, object]:
    """What became of each record, by its number."""
    kept = dict(zip(found.rows, found.batch.to_pylist(), strict=True))
    gone = dict.fromkeys(found.filtered, "filtered")
    return {**kept, **gone, **dict(found.bad)}


class ConverterContract:
    """Each record has one fate, whatever batch it comes in."""

    def test_it_declares_the_same_fields_each_time(
        self, make: Callable[[], Converter], batch: pa.RecordBatch
    ) -> None:
        made = make()
        declared = made.output_schema(batch.schema)
        assert isinstance(declared, pa.Schema)
        assert made.output_schema(batch.schema) == declared == make().output_schema(batch.schema)

    def test_every_record_has_one_fate(
        self, make: Callable[[], Converter], batch: pa.RecordBatch
    ) -> None:
        assert batch.num_rows > 1, "give the contract several records"
        assert sorted(_rows(converted(make(), batch))) == list(range(batch.num_rows))

    def test_no_records_stay_none(
        self, make: Callable[[], Converter], batch: pa.RecordBatch
    ) -> None:
        assert _rows(converted(make(), batch.slice(0, 0))) == {}

    def test_records_are_converted_alike_in_every_batch(
        self, make: Callable[[], Converter], batch: pa.RecordBatch
    ) -> None:
        """Goal: a task that is tried again writes the same rows. Method: every cut in two."""
        whole = _rows(converted(make(), batch))
        made = make()
        for cut in range(batch.num_rows + 1):
            first = _rows(converted(made, batch.slice(0, cut)))
            second = _rows(converted(made, batch.slice(cut)))
            assert first | {cut + row: fate for row, fate in second.items()} == whole

    def test_its_class_is_found_in_a_module(self, make: Callable[[], Converter]) -> None:
        """Goal: an executor can import it. Method: look for its class by name."""
        kind = type(make())
        assert getattr(import_module(kind.__module__), kind.__qualname__) is kind
