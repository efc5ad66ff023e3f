"""An Avro schema as a tree: what follows what in the bytes of a record.

Every type is written out where it is used, so that a tree can be read from top to bottom. A record
that contains itself has no such tree, and no columns either, so it is refused.
"""

from typing import Literal

import msgspec

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.shared.value_types import JsonValue
from penstock.model.schema import MAX_FIELDS, MAX_NESTING, MAX_PRECISION
from penstock.model.value import Value

AvroKind = Literal[
    "null",
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "bytes",
    "string",
    "fixed",
    "enum",
    "array",
    "map",
    "union",
    "record",
]
_PLAIN: dict[str, "AvroType"]
_MOST_BYTES = 2**31 - 1


class AvroType(Value, frozen=True, omit_defaults=True):
    """One type. `name` is the full name of records, enums and fixed ones.

    `item` belongs to arrays and maps, `branches` to unions, `fields` to records, `symbols` to
    enums, `size` to fixed ones, `precision` and `scale` to decimals, as far as columns have digits.
    """

    kind: AvroKind
    name: str = ""
    logical: str = ""
    item: "AvroType | None" = None
    branches: tuple["AvroType", ...] = ()
    fields: tuple["AvroField", ...] = ()
    symbols: tuple[str, ...] = ()
    size: int = 0
    precision: int = 0
    scale: int = 0


class AvroField(Value, frozen=True):
    """A field of a record, in the order in which they are written."""

    name: str
    type: AvroType


_PLAIN = {
    kind: AvroType(kind)
    for kind in ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
}


def parse_avro(text: str, references: tuple[str, ...] = ()) -> AvroType:
    """The tree of a schema. `references` are schemas whose names it may use, each after its own."""
    reader = _Reader()
    for reference in references:
        reader.read(_json(reference), "$")
        reader.restart_count()
    return reader.read(_json(text), "$")


def _json(text: str) -> JsonValue:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        # The name of a type alone is a schema, too, and some registries leave out its quotes.
        if text.strip() in _PLAIN:
            return text.strip()
        raise SchemaUnsupported("$", f"it is not JSON ({error})") from error


class _Reader:
    """Reads documents; `_named` holds the types that later parts may refer to by full name.

    `_open` are the full names of the records around the place that is read.
    """

    def __init__(self) -> None:
        self._named: dict[str, AvroType] = {}
        self._open: list[str] = []
        self._depth = 0
        self._fields = 0

    def read(self, schema: JsonValue, path: str) -> AvroType:
        """A type, wherever it stands."""
        self._depth += 1
        if self._depth > 2 * MAX_NESTING:
            raise SchemaUnsupported(path, f"it nests deeper than {MAX_NESTING} levels")
        found = self._read(schema, path)
        self._depth -= 1
        return found

    def restart_count(self) -> None:
        """Count fields from 0: a definition counts where it is used, and not before."""
        self._fields = 0

    def _read(self, schema: JsonValue, path: str) -> AvroType:
        if isinstance(schema, str):
            return self._by_name(schema, path)
        if isinstance(schema, list):
            return self._union(schema, path)
        if not isinstance(schema, dict):
            raise SchemaUnsupported(path, "this is not a type")
        kind = schema.get("type")
        if not isinstance(kind, str):  # a type inside a type, which some tools write
            return self._logical(self.read(kind, path), schema, path)
        if kind in {"record", "error"}:
            return self._record(schema, path)
        if kind == "enum":
            return self._enum(schema, path)
        if kind == "fixed":
            return self._fixed(schema, path)
        if kind == "array":
            return AvroType("array", item=self.read(schema.get("items"), f"{path}[]"))
        if kind == "map":
            return AvroType("map", item=self.read(schema.get("values"), f"{path}[]"))
        return self._logical(self.read(kind, path), schema, path)

    def _record(self, schema: dict[str, JsonValue], path: str) -> AvroType:
        name = self._full_name(schema)
        if len(self._open) >= MAX_NESTING:
            raise SchemaUnsupported(path, f"it nests deeper than {MAX_NESTING} levels")
        if self._depth == 1 and schema.get("name") is None:
            name = ""  # nobody may take an event for one that is called None
        self._open.append(name)
        fields = [self._field(each, path) for each in _listed(schema, "fields", path)]
        self._open.pop()
        if len({field.name for field in fields}) != len(fields):
            raise SchemaUnsupported(path, "two fields have one name")
        return self._name(AvroType("record", name, fields=tuple(fields)))

    def _field(self, field: JsonValue, path: str) -> AvroField:
        name = field.get("name") if isinstance(field, dict) else None
        if not isinstance(name, str):
            raise SchemaUnsupported(path, "a field has no name")
        self._count(1, path)
        return AvroField(name, self.read(field.get("type"), f"{path}.{name}"))

    def _union(self, branches: list[JsonValue], path: str) -> AvroType:
        found = tuple(self.read(branch, path) for branch in branches)
        if not found:
            raise SchemaUnsupported(path, "a union has no branches")
        if any(branch.kind == "union" for branch in found):
            raise SchemaUnsupported(path, "a union is a branch of another")
        if len({label_of(branch) for branch in found}) != len(found):
            raise SchemaUnsupported(path, "two branches of a union are of one type")
        return AvroType("union", branches=found)

    def _enum(self, schema: dict[str, JsonValue], path: str) -> AvroType:
        symbols = _listed(schema, "symbols", path)
        if not symbols or not all(isinstance(symbol, str) for symbol in symbols):
            raise SchemaUnsupported(path, "an enum needs symbols")
        return self._name(AvroType("enum", self._full_name(schema), symbols=tuple(symbols)))

    def _fixed(self, schema: dict[str, JsonValue], path: str) -> AvroType:
        size = schema.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _MOST_BYTES:
            raise SchemaUnsupported(path, "a fixed type needs a size that a record can have")
        plain = AvroType("fixed", self._full_name(schema), size=size)
        return self._name(self._logical(plain, schema, path))

    def _logical(self, plain: AvroType, schema: dict[str, JsonValue], path: str) -> AvroType:
        """A type with its meaning; one that Avro does not know for it means nothing, says Avro."""
        logical = schema.get("logicalType")
        if logical == "decimal":
            is_one = plain.kind in {"bytes", "fixed"} and _is_decimal(schema)
            return self._decimal(plain, schema, path) if is_one else plain
        means_something = isinstance(logical, str) and logical
        return msgspec.structs.replace(plain, logical=logical) if means_something else plain

    def _decimal(self, plain: AvroType, schema: dict[str, JsonValue], path: str) -> AvroType:
        """A decimal with as many digits as a column can have; Kafka Connect often declares 64."""
        precision, scale = min(schema["precision"], MAX_PRECISION), schema.get("scale", 0)
        if scale > MAX_PRECISION:
            raise SchemaUnsupported(path, f"decimals have up to {MAX_PRECISION} digits")
        return msgspec.structs.replace(plain, logical="decimal", precision=precision, scale=scale)

    def _by_name(self, name: str, path: str) -> AvroType:
        """A plain type, or one that was defined before."""
        if name in _PLAIN:
            return _PLAIN[name]
        full = self._with_namespace(name, None)
        if full in self._open or name in self._open:
            raise SchemaUnsupported(path, f"{name} contains itself")
        found = self._named.get(full) or self._named.get(name)
        if found is None:
            raise SchemaUnsupported(path, f"the type {name} is not known")
        self._count(_fields_in(found), path)
        return found

    def _count(self, fields: int, path: str) -> None:
        """Count fields where they are used: a small document can describe a very large tree."""
        self._fields += fields
        if self._fields > MAX_FIELDS:
            raise SchemaUnsupported(path, f"there are more than {MAX_FIELDS} fields")

    def _full_name(self, schema: dict[str, JsonValue]) -> str:
        return self._with_namespace(schema.get("name"), schema.get("namespace"))

    def _with_namespace(self, name: JsonValue, namespace: JsonValue) -> str:
        """A name with its namespace: its own, the one it is given, or that of the record around."""
        if "." in str(name):
            return str(name)
        around = self._open[-1].rpartition(".")[0] if self._open else ""
        space = around if namespace is None else str(namespace)
        return f"{space}.{name}" if space else str(name)

    def _name(self, found: AvroType) -> AvroType:
        """Remember a type by its name."""
        self._named[found.name] = found
        return found


def label_of(kind: AvroType) -> str:
    """What tells a branch of a union from the others: its name, or what it is."""
    return kind.name or kind.kind


def _is_decimal(schema: dict[str, JsonValue]) -> bool:
    """Whether digits are declared that a decimal can have."""
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int):
        return False
    return precision >= 1 and 0 <= scale <= precision


def _fields_in(kind: AvroType) -> int:
    inside = [kind.item] if kind.item is not None else []
    inside += [*kind.branches, *(field.type for field in kind.fields)]
    return len(kind.fields) + sum(map(_fields_in, inside))


def _listed(schema: dict[str, JsonValue], key: str, path: str) -> list[JsonValue]:
    found = schema.get(key)
    if not isinstance(found, list):
        raise SchemaUnsupported(path, f"{key} is not a list")
    return found
