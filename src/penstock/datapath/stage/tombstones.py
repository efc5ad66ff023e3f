"""Tombstones, which are records without a value, as rows without event columns.

They are routed like other records, as far as that is possible without a value. Their columns are
those of the dataset's files, since there is nothing to convert.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.datapath.stage.batch_decoder import DatasetPart, refused
from penstock.datapath.stage.row_arrays import Column, Rows
from penstock.datapath.stage.samples import Sampling
from penstock.datapath.stage.shred_plan import ShredPlan

TOMBSTONE = "TOMBSTONE"
_NOT_NULL = "no value, and the schema has fields that may not be null"
_NO_PAYLOADS = pa.nulls(0, pa.binary())  # not `pa.array`, which imports pandas


@dataclass(frozen=True, slots=True)
class TombstoneContent:
    """What is known of so many tombstones: every field is null."""

    plan: ShredPlan
    samples: Sampling
    count: int

    def column(self, path: str) -> Column:  # noqa: ARG002
        """Nulls."""
        return [None] * self.count

    def take(self, members: Rows) -> "TombstoneContent":
        """The content of some of them."""
        return replace(self, count=len(members))

    def parts(self, dataset: str) -> Iterator[DatasetPart]:
        """Rows of nulls, unless the dataset has fields that may not be null."""
        schema = self.plan.file_schemas.get(dataset) or self.plan.schemas.get(dataset)
        if schema is None:
            self.samples.add_new(dataset, _NO_PAYLOADS)
        elif any(not field.nullable for field in schema.fields):
            bad = refused(self.count, TOMBSTONE, _NOT_NULL)
            yield DatasetPart.without_rows(schema, bad)
        else:
            columns = arrow_schema(schema)
            nulls = [pa.nulls(self.count, column.type) for column in columns]
            empty = pa.RecordBatch.from_arrays(nulls, schema=columns)
            yield DatasetPart(schema, empty, np.arange(self.count), [])
