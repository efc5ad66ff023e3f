"""What a plug-in has to be that converts records: one of two protocols.

A plug-in is an entry point of the group `penstock.converters`. What it points to is called with the
options of the configuration as keyword arguments, and returns one of these:

    RecordConverter   `convert_record`: one record in, one or none out
    BatchConverter    `convert_batch`: all records of a dataset in a batch at once, as columns

Made on the driver and in every task, from the options alone; nothing of it travels. It is called
once per record or batch, again for the same ones after a failure, and must answer alike then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class RecordConverter(Protocol):
    """Converts records one by one: easy to write, and the slower kind."""

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """The fields that come out, for the fields that go in. Called with no record at hand."""
        ...

    def convert_record(self, record: dict[str, Any]) -> dict[str, Any] | None:
        """A record with the declared fields; None: it is filtered. An exception: it is bad.

        The record goes to the quarantine then, with the type and the words of the exception as the
        reason, less what they quote; they should not repeat what is secret.
        """
        ...


@dataclass(frozen=True, slots=True)
class ConvertedBatch:
    """What became of a batch of records; every one of them is named once.

    `rows` are those that `batch` holds, by their number in the batch that came in and in the same
    order; `filtered` were let go; `bad` go to the quarantine, each with a reason in words. Each of
    the three is gone through once, so that a generator or a set will do.
    """

    batch: pa.RecordBatch
    rows: Sequence[int]
    filtered: Sequence[int] = ()
    bad: Sequence[tuple[int, str]] = ()


class BatchConverter(Protocol):
    """Converts all records of a dataset in a batch at once, as columns."""

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """The fields that come out, for the fields that go in. Called with no record at hand."""
        ...

    def convert_batch(self, batch: pa.RecordBatch) -> ConvertedBatch:
        """Convert a batch; an exception makes all of its records bad."""
        ...
