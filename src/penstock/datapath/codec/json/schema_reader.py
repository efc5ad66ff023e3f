"""JSON records that name a JSON Schema, as the serializers of registries write them.

The schema says what the columns are. A record that does not fit it is bad, as with a schema file;
fields that it does not have go to `_rest`.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.codec import DecodedBatch, Message, RecordReader, RowRange
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.json.batch_decode import decode
from penstock.datapath.codec.json.decode_plan import DecodePlan, plan_of
from penstock.datapath.codec.json.schema import from_json_schema
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.value_count import MOST_AT_ONCE
from penstock.datapath.codec.shared.value_types import JsonValue
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import MAX_FIELDS, MAX_NESTING, DatasetSchema

_END = 2**31 - 1  # without a stop, Arrow fails on large arrays
_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas"})
# What no column comes from: schemas for others to refer to, and values that only look like schemas.
_ELSEWHERE = frozenset({"definitions", "$defs", "default", "examples", "enum", "const"})


def json_schema_reader(schema: RegisteredSchema, _message: Message = ()) -> RecordReader:
    """Make a schema ready for reading; raises SchemaUnsupported."""
    root = _parsed(schema.text)
    others = {name: _parsed(text) for name, text in schema.references}
    whole = _Inlining(others).inlined(root, root, ())
    fields = from_json_schema(msgspec.json.encode(whole).decode())
    plan = plan_of(DatasetSchema("record", 1, declared=True, fields=fields))
    title = root.get("title")
    name = title if isinstance(title, str) else ""
    return RecordReader(name, fields, partial(_read, plan), partial(_row_ranges, plan))


def _row_ranges(plan: DecodePlan, values: pa.Array) -> Iterator[RowRange]:
    return plan.counter.row_ranges(values, MOST_AT_ONCE)


def _read(plan: DecodePlan, values: pa.Array, skipped: int) -> DecodedBatch:
    bodies = pc.binary_slice(values, skipped, _END) if skipped else values
    decoded = decode(bodies, plan, Limits(), exact_only=False)
    *columns, rest = decoded.batch.columns
    schema = pa.schema(list(decoded.batch.schema)[:-1])
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    found = rest if rest.null_count < len(rest) else None
    singly = np.isin(decoded.good, decoded.singly) if decoded.singly else None
    return DecodedBatch(batch, decoded.good, decoded.bad, found, singly)


def _parsed(text: str) -> dict[str, JsonValue]:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise SchemaUnsupported("$", f"it is not JSON ({error})") from error
    if not isinstance(found, dict):
        raise SchemaUnsupported("$", "it describes nothing")
    return found


class _Inlining:
    """Puts what a schema refers to in the place of the reference, since columns need all of it."""

    def __init__(self, others: Mapping[str, dict[str, JsonValue]]) -> None:
        self._others = others
        self._left = 10 * MAX_FIELDS
        self._depth = 0

    def inlined(
        self, part: JsonValue, document: dict[str, JsonValue], around: tuple[str, ...]
    ) -> JsonValue:
        """A part of a document where a schema stands, with nothing that points elsewhere."""
        self._enter(around)
        if isinstance(part, list):
            found: JsonValue = [self.inlined(each, document, around) for each in part]
        elif not isinstance(part, dict):
            found = part
        elif isinstance(reference := part.get("$ref"), str):
            found = self._followed(reference, document, around)
        else:
            found = {
                key: self._named(value, document, around)
                if key in _BY_NAME
                else self.inlined(value, document, around)
                for key, value in part.items()
                if key not in _ELSEWHERE
            }
        self._depth -= 1
        return found

    def _named(
        self, part: JsonValue, document: dict[str, JsonValue], around: tuple[str, ...]
    ) -> JsonValue:
        """Schemas by names, which may be any: none of them is a word of JSON Schema's."""
        if not isinstance(part, dict):
            return part
        return {key: self.inlined(value, document, around) for key, value in part.items()}

    def _enter(self, around: tuple[str, ...]) -> None:
        self._left -= 1
        self._depth += 1
        if self._left < 0 or len(around) > MAX_NESTING or self._depth > 4 * MAX_NESTING:
            raise SchemaUnsupported("$", "its references lead too far, or it nests too deep")

    def _followed(
        self, reference: str, document: dict[str, JsonValue], around: tuple[str, ...]
    ) -> JsonValue:
        name, mark, path = reference.partition("#")
        where = document if not name else self._others.get(name)
        if where is None:
            raise SchemaUnsupported("$", f"it refers to {name!r}, which is not known")
        place = f"{id(where)}#{path}"
        if place in around:
            raise SchemaUnsupported("$", f"{reference} contains itself")
        found: JsonValue = where
        for step in path.strip("/").split("/") if mark and path.strip("/") else ():
            key = step.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
        if found is None:
            raise SchemaUnsupported("$", f"it refers to {reference!r}, where nothing is")
        return self.inlined(found, where, (*around, place))
