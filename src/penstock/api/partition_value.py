"""What names a directory below a dataset: a text that is derived from the record.

A partition value is behind an entry point of the group `penstock.partitions`. What it points to is
called with the options of the configuration as keyword arguments, and returns a `PartitionValue`:

    partition: [day, {plugin: "bucket", options: {of: user_id, count: 16}}]

makes directories such as `day=2026-11-15/by_bucket=7`. Made on the driver when a feed starts, and
in every task; nothing of it travels. It is asked once per batch and dataset, again for the same
records after a failure and in other batches, and must answer alike. What it raises, or an answer of
another length or type, makes records bad (`PARTITION_FAILED`), and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.api.records import Records


class PartitionValue(Protocol):
    """Names the directories of records. Executors."""

    @property
    def fields(self) -> Sequence[str]:
        """The fields that it wants to see, by their dotted paths."""
        ...

    def texts(self, records: Records) -> Sequence[str | None] | pa.Array:
        """The value of the directory of each record, in their order.

        Any text; it is escaped, and cut with a hash if it is too long. None and the empty text lie
        under Hive's name for null. A text per record makes a directory and a file per record: it is
        the plug-in's business to give few.
        """
        ...
