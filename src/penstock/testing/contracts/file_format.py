# ruff: noqa: S101  -- these are tests; they assert
"""The contract of every file format, as a test class to inherit from.

    class TestMyFormat(FileFormatContract):
        @pytest.fixture
        def form(self) -> FileFormat: ...

A format that refuses rows also overrides `unfit_rows`. Its traits decide what is asked of a file
that was cut, and whether it is read by a schema.
"""

from collections.abc import Mapping
from importlib import import_module

from penstock.api.file_format import FileFormat
from penstock.testing.contracts.file_format_reading import ReadingContract
from penstock.testing.contracts.file_format_writing import WritingContract

DIALECTS = {"spark", "hive", "trino"}
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


class FileFormatContract(WritingContract, ReadingContract):
    """All that a file format must give."""

    def test_its_names_fit_into_the_names_of_files(self, form: FileFormat) -> None:
        assert form.name
        assert set(form.name) <= LETTERS
        assert form.endings
        assert all(ending.startswith(".") for ending in form.endings)
        assert form.suffixes
        for suffix in form.suffixes.values():
            assert set(suffix) <= LETTERS | {"."}
            assert f".{suffix}".endswith(form.endings), "its own files are recognised"
        assert len(set(form.suffixes.values())) == len(form.suffixes)

    def test_tables_are_made_of_it_in_dialects_that_exist(self, form: FileFormat) -> None:
        assert set(form.table_clauses) <= DIALECTS
        for clause in form.table_clauses.values():
            assert clause.words.strip()
            assert isinstance(clause.types, Mapping)

    def test_it_pickles_by_reference(self, form: FileFormat) -> None:
        """Plans carry it to executors: what arrives there is the value of the module itself."""
        name = form.__reduce_ex__(4)
        assert isinstance(name, str), "`__reduce__` returns the name of the module-level value"
        assert getattr(import_module(type(form).__module__), name) is form
