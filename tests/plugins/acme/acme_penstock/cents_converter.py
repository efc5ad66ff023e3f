"""A converter that adds an amount in cents."""

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.converter import ConvertedBatch


class Cents:
    """Adds `NAME_cents` to records with a number `NAME`; records of nothing are let go."""

    def __init__(self, field: str = "amount") -> None:
        self._field = field

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """One column more, where the field is there."""
        if self._field not in schema.names:
            return schema
        return schema.append(pa.field(f"{self._field}_cents", pa.int64()))

    def convert_batch(self, batch: pa.RecordBatch) -> ConvertedBatch:
        """All records of a batch at once."""
        if self._field not in batch.schema.names:
            return ConvertedBatch(batch, range(batch.num_rows))
        amounts = batch[self._field].to_pylist()
        kept = [row for row, amount in enumerate(amounts) if amount != 0]
        gone = [row for row, amount in enumerate(amounts) if amount == 0]
        some = batch.take(pa.array(kept, pa.int64()))
        cents = pc.multiply(some[self._field], 100).cast(pa.int64())
        arrays = [*some.columns, cents]
        schema = self.output_schema(batch.schema)
        return ConvertedBatch(pa.RecordBatch.from_arrays(arrays, schema=schema), kept, gone)
