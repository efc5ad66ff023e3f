# ruff: noqa: S101, S311  -- these are tests; they assert, and their randomness is repeatable
"""The contract of file formats without columns, which hold the values of records as they came.

    class TestMyFormat(RecordFileFormatContract):
        @pytest.fixture
        def form(self) -> FileFormat: ...

A format that refuses other records than those without a value also overrides `unfit_values`.
"""

import io
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from penstock.api.file_format import (
    KEY,
    VALUE,
    FileFormat,
    FileUnreadable,
    FileWriter,
    WriteOptions,
)
from penstock.errors import StoreUnavailable
from penstock.testing.contracts.file_format_rows import (
    WORDS,
    Answering,
    FullDisk,
    written,
)

KIB, MIB = 1 << 10, 1 << 20
NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
SUFFIX_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.")


def some_records(values: Sequence[bytes | None], first: int = 1_000) -> pa.Table:
    """Records with these values at offsets from `first`; every third has a key."""
    count = len(values)
    keys = [b"key %d" % number if number % 3 == 0 else None for number in range(count)]
    return pa.table(
        {
            VALUE: pa.array(values, pa.binary()),
            KEY: pa.array(keys, pa.binary()),
            "_topic": pa.array(["orders"] * count).dictionary_encode(),
            "_partition": pa.array([3] * count, pa.int32()),
            "_offset": pa.array(range(first, first + count), pa.int64()),
            "_timestamp": pa.array([0] * count, pa.timestamp("ms", tz="UTC")),
        }
    )


def some_values(count: int) -> list[bytes]:
    """Values of many lengths, among them empty ones and some that are not text."""
    random = Random(count)
    return [
        b"v" + bytes(random.choices(range(32, 256), k=number % 300)) if number % 7 else b""
        for number in range(count)
    ]


def read_again(form: FileFormat, raw: bytes) -> dict[str, list[object]]:
    """All columns of a file."""
    reader = form.open(io.BytesIO(raw))
    found: dict[str, list[object]] = {name: [] for name in reader.schema.names}
    for piece in reader.pieces(reader.schema.names):
        for name in found:
            found[name] += piece[name].to_pylist()
    return found


class RecordFileFormatContract:
    """All that a file format without columns must give."""

    @pytest.fixture
    def unfit_values(self) -> list[bytes | None]:
        """Values that are refused, one by one."""
        return [None]

    def test_it_says_that_it_has_no_columns(self, form: FileFormat) -> None:
        assert not form.traits.has_columns
        assert form.traits.positions in {"offset", "by count"}
        assert set(form.name) <= NAME_LETTERS
        for suffix in form.suffixes.values():
            assert set(suffix) <= SUFFIX_LETTERS
            assert f".{suffix}".endswith(form.endings), "its own files are recognised"
        assert len(set(form.suffixes.values())) == len(form.suffixes)

    def test_it_pickles_by_reference(self, form: FileFormat) -> None:
        name = form.__reduce_ex__(4)
        assert isinstance(name, str), "`__reduce__` returns the name of the module-level value"
        assert getattr(import_module(type(form).__module__), name) is form

    def test_values_come_back_in_order_whatever_they_are(self, form: FileFormat) -> None:
        values = some_values(2_000)
        rows = some_records(values)
        for compression in form.suffixes:
            parts = (rows.slice(0, 5), rows.slice(5, 1), rows.slice(6, 0), rows.slice(6))
            raw = written(form, *parts, options=WriteOptions(compression, WORDS))
            found = read_again(form, raw)
            assert found[VALUE] == values, compression
            if form.traits.positions == "offset":
                assert found["_offset"] == list(range(1_000, 3_000))
            if KEY in found:
                assert found[KEY] == rows[KEY].to_pylist()

    def test_a_file_without_rows_is_one(self, form: FileFormat) -> None:
        for compression in form.suffixes:
            raw = written(form, some_records([]), options=WriteOptions(compression, WORDS))
            assert read_again(form, raw)[VALUE] == []

    def test_the_same_rows_give_the_same_bytes(self, form: FileFormat) -> None:
        rows = some_records(some_values(500))
        for compression in form.suffixes:
            options = WriteOptions(compression, WORDS)
            assert written(form, rows, options=options) == written(form, rows, options=options)

    def test_the_words_of_a_file_come_back(self, form: FileFormat) -> None:
        many = {f"word {number}": "ü" * number for number in range(100)}
        for words in ({}, WORDS, many):
            for compression in form.suffixes:
                options = WriteOptions(compression, words)
                raw = written(form, some_records([b"a"]), options=options)
                found = dict(form.open(io.BytesIO(raw)).words)
                assert found == (words if form.traits.keeps_words else {}), compression

    def test_pieces_are_bounded_by_rows_and_by_bytes(self, form: FileFormat) -> None:
        values = [bytes([65 + number % 26]) * 64 * KIB for number in range(200)]
        for compression in form.suffixes:
            options = WriteOptions(compression, {})
            reader = form.open(io.BytesIO(written(form, some_records(values), options=options)))
            found = list(reader.pieces([VALUE], 7, MIB))
            assert max(each.num_rows for each in found) == 7
            found = list(reader.pieces([VALUE], 1_000, MIB))
            assert 1 < len(found) <= 30
            assert max(each.nbytes for each in found) < 2 * MIB
            assert [value for each in found for value in each[VALUE].to_pylist()] == values

    def test_a_file_that_was_cut_has_none_but_its_first_rows(self, form: FileFormat) -> None:
        """Goal: no row is made up. Method: cut it at many places."""
        values = [b"value %d" % number for number in range(20_000)]
        rows = some_records(values)
        for compression in form.suffixes:
            raw = written(form, rows, options=WriteOptions(compression, WORDS))
            for cut in (*range(1, 30), *range(30, len(raw), max(1, len(raw) // 20)), len(raw)):
                found: list[bytes] = []
                with suppress(FileUnreadable):
                    for piece in form.open(io.BytesIO(raw[:-cut])).pieces([VALUE]):
                        found += piece[VALUE].to_pylist()
                assert found == values[: len(found)], (compression, cut)
                assert len(found) < len(values), (compression, cut)

    def test_bytes_that_were_changed_are_rows_or_unreadable(self, form: FileFormat) -> None:
        """Goal: nothing else is raised. Method: change bytes at places that a seed chooses."""
        rows = some_records(some_values(300))
        for compression in form.suffixes:
            raw = written(form, rows, options=WriteOptions(compression, {"a": "b"}))
            random = Random(7)
            for _ in range(200):
                changed = bytearray(raw)
                place = random.choice((random.randrange(200), random.randrange(len(raw))))
                changed[place % len(raw)] = random.randrange(256)
                with suppress(FileUnreadable):
                    read_again(form, bytes(changed))

    def test_a_column_that_is_not_there_is_told(self, form: FileFormat) -> None:
        raw = written(form, some_records([b"a"]))
        with pytest.raises(FileUnreadable, match="no column _topic"):
            list(form.open(io.BytesIO(raw)).pieces(["_topic"]))

    def test_a_store_that_does_not_answer_is_not_a_damaged_file(self, form: FileFormat) -> None:
        raw = written(
            form, some_records([Random(n).randbytes(999).hex().encode() for n in range(3_000)])
        )
        whole = Answering(raw, 1_000_000)
        _read_values(form, whole)
        assert whole.asked > 1
        for answers in {0, 1, whole.asked - 1}:
            with pytest.raises(StoreUnavailable, match="a timeout"):
                _read_values(form, Answering(raw, answers))

    @pytest.mark.parametrize("room_bytes", [0, 3, 50_000])
    def test_a_full_disk_is_an_error(self, form: FileFormat, room_bytes: int) -> None:
        rows = some_records([Random(n).randbytes(50).hex().encode() for n in range(9_000)])
        writer = form.begin(FullDisk(room_bytes), rows.schema, WriteOptions("none", WORDS))
        with pytest.raises(OSError, match="No space left"):
            _write_all(writer, rows)

    def test_refused_records_are_named_and_the_others_are_written(
        self, form: FileFormat, unfit_values: list[bytes | None]
    ) -> None:
        values: list[bytes | None] = [b"good"]
        for each in unfit_values:
            values += [each, b"good", b""]
        batch = some_records(values).combine_chunks().to_batches()[0]
        wanted = list(range(1, len(values), 3))
        for rows in (batch, batch.slice(1), batch.slice(2, 7)):
            start = batch["_offset"].to_pylist().index(rows["_offset"][0].as_py())
            bad = form.refused(rows, np.zeros(len(rows), np.int64))
            assert [start + each.index for each in bad] == [
                number for number in wanted if start <= number < start + len(rows)
            ]
            assert all(each.reason == each.reason.upper() and each.detail for each in bad)
        good = pa.Table.from_batches([batch]).filter(
            pa.array([number not in wanted for number in range(len(values))])
        )
        assert read_again(form, written(form, good))[VALUE] == good[VALUE].to_pylist()


def _read_values(form: FileFormat, file: Answering) -> None:
    for _ in form.open(file).pieces([VALUE]):
        pass


def _write_all(writer: FileWriter, rows: pa.Table) -> None:
    writer.write(rows)
    writer.finish()
