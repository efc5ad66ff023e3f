"""Records that a reference has read one by one, as columns."""

import pyarrow as pa

from penstock.model.bad_records import BadRecord

VALUES_AT_A_TIME = 1024 * 1024


class SingleRecords:
    """Records of a reference; they are Python values for a while, so not too many at a time.

    `width` is how many values a record has besides those of its lists.
    """

    def __init__(self, schema: pa.Schema, width: int) -> None:
        self._schema = schema
        self._width = width
        self._singles: list[dict[str, object]] = []
        self._values = 0
        self._batches: list[pa.RecordBatch] = []
        self.rows: list[int] = []
        self.bad: list[BadRecord] = []

    def add(self, row: int, single: dict[str, object], values: int) -> None:
        """Take one record; its lists have so many values."""
        self.rows.append(row)
        self._singles.append(single)
        self._values += self._width + values
        if self._values > VALUES_AT_A_TIME:
            self._add_batch()

    def batch(self) -> pa.RecordBatch:
        """All of them as columns."""
        self._add_batch()
        return pa.concat_batches(self._batches)

    def _add_batch(self) -> None:
        self._batches.append(pa.RecordBatch.from_pylist(self._singles, schema=self._schema))
        self._singles, self._values = [], 0
