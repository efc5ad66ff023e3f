"""Fields as plug-ins see them: a schema of Arrow, with the names of the event."""

from collections.abc import Iterable

import pyarrow as pa

from penstock.datapath.shape.convert.flow import ConvertImpossible
from penstock.model.arrow_types import PLAIN_TYPES, arrow_type
from penstock.model.schema import (
    Field,
    FieldType,
    decimal_of,
    list_of,
    map_of,
    struct_of,
    with_columns,
)

_KINDS = {arrow: FieldType(kind) for kind, arrow in PLAIN_TYPES.items()}


def named_schema(fields: Iterable[Field]) -> pa.Schema:
    """The schema of some fields."""
    return pa.schema(
        [pa.field(each.name, arrow_type(each.type), nullable=each.nullable) for each in fields]
    )


def types_in(verb: str, schema: pa.Schema) -> list[FieldType]:
    """The types of a schema's fields; raises `ConvertImpossible` for those of no column."""
    return [_type_of(verb, each.name, each.type) for each in schema]


def _type_of(verb: str, path: str, arrow: pa.DataType) -> FieldType:
    if arrow in _KINDS:
        return _KINDS[arrow]
    if pa.types.is_decimal128(arrow) and arrow.precision >= arrow.scale >= 0:
        return decimal_of(arrow.precision, arrow.scale)
    if pa.types.is_list(arrow):
        return list_of(_type_of(verb, path, arrow.value_type))
    if pa.types.is_map(arrow) and arrow.key_type == pa.string():
        return map_of(_type_of(verb, path, arrow.item_type))
    if pa.types.is_struct(arrow) and arrow.num_fields:
        inside = [arrow.field(place) for place in range(arrow.num_fields)]
        if len({f.name for f in inside}) < len(inside):
            raise ConvertImpossible(verb, path, "two fields inside it have one name")
        entries = [(f.name, _type_of(verb, f"{path}.{f.name}", f.type), f.nullable) for f in inside]
        return struct_of(with_columns(entries, top=False))
    known = ", ".join(map(str, _KINDS))
    raise ConvertImpossible(
        verb, path, f"no column can be {arrow}; there are {known}, decimals, lists, maps, structs"
    )
