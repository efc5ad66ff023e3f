"""The Arrow type of a column for every field type."""

import pyarrow as pa

from penstock.model.schema import FieldType, Kind

_DAY_US = 86_400_000_000
# The years 1 to 9999, counted from 1970: the times that every reader can show.
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
FIRST_US, LAST_US = FIRST_DAY * _DAY_US, (LAST_DAY + 1) * _DAY_US - 1
# The kinds without items, fields or digits.
PLAIN_TYPES: dict[Kind, pa.DataType] = {
    "boolean": pa.bool_(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp_us": pa.timestamp("us", tz="UTC"),
    "local_us": pa.timestamp("us"),
}


def arrow_type(kind: FieldType) -> pa.DataType:
    """The type of a column."""
    if kind.kind == "struct":
        return pa.struct([(each.column, arrow_type(each.type)) for each in kind.fields])
    if kind.item is not None:
        item = arrow_type(kind.item)
        return pa.list_(item) if kind.kind == "list" else pa.map_(pa.string(), item)
    if kind.kind == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    return PLAIN_TYPES[kind.kind]
