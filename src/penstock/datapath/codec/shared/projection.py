"""From the columns of a writer's schema to those of a dataset, which may have more, or others.

A dataset's schema is made of all its writers' (`model.schema_merging`), so every field of the
writer has a column there, of the same kind; fields of other writers are null.
"""

from functools import lru_cache

import pyarrow as pa

from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.model.arrow_types import arrow_type
from penstock.model.schema import DatasetSchema, Field, FieldType

Fields = tuple[Field, ...]


def project(
    batch: pa.RecordBatch, fields: Fields, schema: DatasetSchema, rest: pa.Array | None = None
) -> pa.RecordBatch:
    """The same rows with the dataset's columns, and `_rest`, which is null if there is none."""
    columns = _columns(batch.columns, fields, schema.fields, batch.num_rows)
    arrays = [*columns, pa.nulls(batch.num_rows, pa.string()) if rest is None else rest]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))


def _columns(arrays: list[pa.Array], have: Fields, want: Fields, count: int) -> list[pa.Array]:
    """Columns in the order of the wanted fields; null where there is no such field."""
    places = {field.name: (field, array) for field, array in zip(have, arrays, strict=True)}
    found = []
    for field in want:
        if field.name in places:
            source, array = places[field.name]
            found.append(_fitted(array, source.type, field.type))
        else:
            found.append(pa.nulls(count, _arrow(field.type)))
    return found


def _fitted(array: pa.Array, have: FieldType, want: FieldType) -> pa.Array:
    """The same values in the type of the dataset's column."""
    arrow = _arrow(want)
    if array.type == arrow:
        return array
    if want.kind == "struct":
        inside = _columns(array.flatten(), have.fields, want.fields, len(array))
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(inside, fields=list(arrow), mask=mask)
    if want.item is None or have.item is None:
        raise ValueError(f"a column of {have.kind} for one of {want.kind}")
    starts = pa.array(array.offsets.to_numpy(), pa.int32())
    mask = array.is_null() if array.null_count else None
    if want.kind == "list":
        items = _fitted(array.values, have.item, want.item)
        return pa.ListArray.from_arrays(starts, items, type=arrow, mask=mask)
    items = _fitted(array.items, have.item, want.item)
    return pa.MapArray.from_arrays(starts, array.keys, items, type=arrow, mask=mask)


_arrow = lru_cache(maxsize=4096)(arrow_type)
