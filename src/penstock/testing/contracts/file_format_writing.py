# ruff: noqa: S101  -- these are tests; they assert
"""The part of the contract about writing: what is finished comes back, and nothing else does."""

import io
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest

from penstock.api.file_format import ByteStream, FileFormat, FileUnreadable, WriteOptions
from penstock.testing.contracts.file_format_rows import (
    WORDS,
    FullDisk,
    opened,
    positions,
    some_rows,
    values_of,
    written,
)


class WritingContract:
    """Tests of begin, write, finish, advice and refused."""

    @pytest.fixture
    def unfit_rows(self) -> tuple[pa.RecordBatch, list[int], list[int]]:
        """Rows with Kafka's times in milliseconds, and the numbers of those that are refused."""
        return some_rows(9).to_batches()[0], list(range(9)), []

    def test_rows_come_back_in_order_and_with_their_types(self, form: FileFormat) -> None:
        rows = some_rows(300)
        for compression in form.suffixes:
            parts = (rows.slice(0, 100), rows.slice(100, 1), rows.slice(101))
            raw = written(form, *parts, options=WriteOptions(compression, WORDS))
            reader = opened(form, raw, rows.schema)
            assert reader.schema.names == rows.schema.names
            assert values_of(reader, rows.schema) == rows.to_pylist(), compression

    def test_the_words_of_a_file_come_back(self, form: FileFormat) -> None:
        many = {f"word {number}": "ü" * number for number in range(100)}
        for words in ({}, WORDS, many):
            for compression in form.suffixes:
                raw = written(form, positions(9), options=WriteOptions(compression, words))
                found = dict(form.open(io.BytesIO(raw)).words)
                assert found == (words if form.traits.keeps_words else {}), compression

    def test_advice_changes_nothing_that_is_read(self, form: FileFormat) -> None:
        rows = pa.table({"id": range(3_000), "kind": [str(n % 3) for n in range(3_000)],
                         "text": [f"text {n}" for n in range(3_000)]})  # fmt: skip
        compression = next(iter(form.suffixes))
        advice = form.advice(("feed", "dataset"), rows.to_batches()[0], compression)
        raw = written(form, rows, options=WriteOptions(compression, WORDS, advice))
        assert values_of(opened(form, raw, rows.schema), rows.schema) == rows.to_pylist()

    def test_what_is_not_finished_does_not_open(self, form: FileFormat) -> None:
        """Goal: an interrupted write leaves nothing that opens. Method: look before `finish`."""
        if not form.traits.has_end:
            return
        stream = io.BytesIO()
        compression = next(iter(form.suffixes))
        rows = some_rows(2_000)
        writer = form.begin(stream, rows.schema, WriteOptions(compression, WORDS))
        for _ in range(3):
            with pytest.raises(FileUnreadable):
                form.open(io.BytesIO(stream.getvalue()))
            writer.write(rows)
        writer.finish()
        whole = stream.getvalue()
        assert form.open(io.BytesIO(whole)).schema.names == rows.schema.names
        for cut in (1, 2, 10, len(whole) // 2, len(whole)):
            with pytest.raises(FileUnreadable):
                form.open(io.BytesIO(whole[: len(whole) - cut]))

    def test_a_file_that_was_cut_has_none_but_its_first_rows(self, form: FileFormat) -> None:
        """Goal: without an end, too, no row is made up. Method: cut it at many places."""
        rows = positions(20_000)
        for compression in () if form.traits.has_end else form.suffixes:
            options = WriteOptions(compression, WORDS)
            raw = written(form, *(rows.slice(at, 1_000) for at in range(0, 20_000, 1_000)),
                          options=options)  # fmt: skip
            for cut in range(1, len(raw), max(1, len(raw) // 50)):
                found: list[int] = []
                with suppress(FileUnreadable):
                    for piece in opened(form, raw[:-cut], rows.schema).pieces(["_offset"]):
                        found += piece["_offset"].to_pylist()
                assert found == list(range(len(found))), (compression, cut)

    def test_the_stream_stays_open_and_gets_nothing_more(self, form: FileFormat) -> None:
        stream = io.BytesIO()
        compression = next(iter(form.suffixes))
        writer = form.begin(stream, positions(1).schema, WriteOptions(compression, WORDS))
        writer.write(positions(1))
        writer.finish()
        whole = stream.getvalue()
        del writer
        assert not stream.closed
        assert stream.getvalue() == whole

    @pytest.mark.parametrize("room_bytes", [0, 3, 50_000, 400_000])
    def test_a_full_disk_is_an_error_and_not_the_end_of_the_process(
        self, form: FileFormat, room_bytes: int
    ) -> None:
        rows = pa.table({"n": np.random.default_rng(0).integers(0, 2**62, 60_000)})
        compression = "none" if "none" in form.suffixes else next(iter(form.suffixes))
        options = WriteOptions(compression, WORDS)

        def write_all(stream: ByteStream) -> None:
            writer = form.begin(stream, rows.schema, options)
            for _ in range(3):
                writer.write(rows)
            writer.finish()

        buffered = pa.output_stream(FullDisk(room_bytes), buffer_size=4096)
        for stream in (FullDisk(room_bytes), buffered):
            with pytest.raises(OSError, match="No space left"):
                write_all(stream)

    def test_refused_rows_are_named_one_by_one_and_the_others_are_written(
        self, form: FileFormat, unfit_rows: tuple[pa.RecordBatch, list[int], list[int]]
    ) -> None:
        batch, kafka_ms, wanted = unfit_rows
        times = np.array(kafka_ms, np.int64)
        found = form.refused(batch, times)
        assert [bad.index for bad in found] == wanted
        for bad in found:
            assert bad.reason
            assert bad.reason == bad.reason.upper()
            assert bad.detail
            alone = form.refused(batch.slice(bad.index, 1), times[bad.index : bad.index + 1])
            assert [each.index for each in alone] == [0]
        left = np.ones(batch.num_rows, dtype=bool)
        left[wanted] = False
        good = batch.filter(pa.array(left))
        assert list(form.refused(good, times[left])) == []
        reader = opened(form, written(form, pa.Table.from_batches([good])), good.schema)
        assert values_of(reader, good.schema) == good.to_pylist()
