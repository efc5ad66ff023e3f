# ruff: noqa: S101, S311  -- these are tests; they assert, and their randomness is repeatable
"""The part of the contract about reading: in pieces, within memory, and honest about trouble."""

import io
from random import Random

import pyarrow as pa
import pytest

from penstock.api.file_format import FileFormat, FileUnreadable
from penstock.errors import StoreUnavailable
from penstock.testing.contracts.file_format_rows import (
    Answering,
    opened,
    positions,
    some_rows,
    values_of,
    written,
)

KIB, MIB = 1 << 10, 1 << 20


class ReadingContract:
    """Tests of open and of pieces."""

    def test_a_piece_is_bounded_by_rows_and_has_one_at_least(self, form: FileFormat) -> None:
        rows = positions(2_500)
        found = opened(form, written(form, rows), rows.schema).pieces(["_offset"], 1_000)
        sizes = [len(each) for each in found]
        assert max(sizes) <= 1_000
        assert sum(sizes) == 2_500
        large = pa.table({"value": [Random(n).randbytes(64 * KIB) for n in range(5)]})
        reader = opened(form, written(form, large), large.schema)
        ones = [len(each) for each in reader.pieces(["value"], 1_000, KIB)]
        assert ones == [1] * 5

    def test_a_piece_is_bounded_by_bytes_whatever_was_written_at_once(
        self, form: FileFormat
    ) -> None:
        values = [Random(n).randbytes(256 * KIB) for n in range(64)]
        rows = pa.table({"n": range(64), "value": pa.array(values, pa.binary())})
        for parts in ([rows], [rows.slice(at, 16) for at in range(0, 64, 16)]):
            reader = opened(form, written(form, *parts), rows.schema)
            found = list(reader.pieces(["n", "value"], 1_000, 2 * MIB))
            assert max(sum(map(len, each["value"].to_pylist())) for each in found) < 2.2 * MIB
            assert max(each.num_rows for each in found) > 1
            assert [v for each in found for v in each["value"].to_pylist()] == values

    def test_large_values_that_repeat_count_each_time(self, form: FileFormat) -> None:
        """A value that is written once and referred to takes its place in memory every time."""
        values = [f"{n % 4}" * (128 * KIB) for n in range(128)]
        rows = pa.table({"value": values})
        reader = opened(form, written(form, rows), rows.schema)
        before, most = pa.total_allocated_bytes(), 0
        for each in reader.pieces(["value"], 1_000, 4 * MIB):
            most = max(most, pa.total_allocated_bytes() - before)
            del each
        assert most < 40 * MIB, "no more than what was in memory when it was written"

    def test_rows_of_a_few_bits_are_not_all_in_memory_together(self, form: FileFormat) -> None:
        raw = written(form, positions(2_000_000))
        before, most, rows = pa.total_allocated_bytes(), 0, 0
        for each in form.open(io.BytesIO(raw), as_dictionaries=("_topic",)).pieces(
            ["_topic", "_offset"]
        ):
            assert each["_offset"][0].as_py() == rows
            rows += each.num_rows
            most = max(most, pa.total_allocated_bytes() - before)
        assert rows == 2_000_000
        assert most < 24 * MIB, "all of them take more"

    def test_only_what_is_asked_for_counts_and_comes(self, form: FileFormat) -> None:
        values = [Random(n).randbytes(64 * KIB) for n in range(200)]
        rows = pa.table({"value": values, "n": range(200)})
        [whole] = opened(form, written(form, rows), rows.schema).pieces(["n"], 1_000, MIB)
        assert whole.schema.names == ["n"]
        assert whole["n"].to_pylist() == list(range(200))

    def test_pieces_can_be_read_twice(self, form: FileFormat) -> None:
        rows = some_rows(50)
        reader = opened(form, written(form, rows), rows.schema)
        assert values_of(reader, rows.schema) == values_of(reader, rows.schema) == rows.to_pylist()

    def test_a_nested_column_need_not_be_a_dictionary(self, form: FileFormat) -> None:
        raw = written(form, pa.table({"_topic": [["a"], []]}))
        reader = form.open(io.BytesIO(raw), as_dictionaries=("_topic", "absent"))
        if not form.traits.has_types:
            return
        assert [each["_topic"].to_pylist() for each in reader.pieces(["_topic"])] == [[["a"], []]]

    @pytest.mark.parametrize("raw", [b"", b"x", b"PAR1", b"ORC", b"Obj\x01", bytes(5_000)])
    def test_other_bytes_are_unreadable(self, form: FileFormat, raw: bytes) -> None:
        with pytest.raises(FileUnreadable) as told:
            form.open(io.BytesIO(raw))
        assert str(told.value)
        assert "\n" not in str(told.value)

    def test_a_store_that_does_not_answer_is_not_a_damaged_file(self, form: FileFormat) -> None:
        """Goal: its error comes as it is. Method: let each read of the file fail in turn."""
        rows = pa.table({"n": range(200_000), "text": [f"{n:032}" for n in range(200_000)]})
        raw = written(form, rows)
        whole = Answering(raw, 1_000_000)
        read_all(form, whole)
        assert whole.asked > 2
        for answers in {0, 1, 2, whole.asked // 2, whole.asked - 1}:
            with pytest.raises(StoreUnavailable, match="a timeout"):
                read_all(form, Answering(raw, answers))


def read_all(form: FileFormat, file: Answering) -> None:
    """Read every row of a file."""
    for _ in form.open(file).pieces(["n", "text"]):
        pass
