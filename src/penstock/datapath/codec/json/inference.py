"""Which schema a sample of records suggests, and how a schema grows. Runs on the driver.

What was seen of a field is a lattice: nothing yet, a type, or a conflict. Nulls, empty arrays and
empty objects teach nothing. Integers and floating point numbers meet in double; any other two
kinds are a conflict, and a field in conflict gets no column: its values go to `_rest`. So do those
of fields with names beyond all measure, which every file would repeat.
"""

from collections.abc import Iterable
from typing import Final

from penstock.datapath.codec.json.payload import fault_of
from penstock.datapath.codec.json.value_text import is_integer, items_of, kind_of, members_of
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.shapes import INT64_MAX, INT64_MIN
from penstock.model.schema import (
    BOOLEAN,
    DOUBLE,
    INT64,
    MAX_FIELDS,
    MAX_NESTING,
    STRING,
    DatasetSchema,
    Field,
    FieldType,
    count_fields,
    count_nested,
    list_of,
    struct_of,
    with_columns,
)

NOTHING: Final = "nothing"
CONFLICT: Final = "conflict"
_LONG = 65_536
_LONGEST_NAME = 1_024  # bytes
_NUMBERS = frozenset({"int64", "double"})
_SCALARS = {"boolean": BOOLEAN, "string": STRING, "int64": INT64, "double": DOUBLE}


class SeenField:
    """What was seen of one field so far."""

    __slots__ = ("fields", "item", "kind")

    def __init__(self) -> None:
        self.kind: str = NOTHING
        self.fields: dict[str, SeenField] = {}
        self.item: SeenField | None = None

    def add(self, text: bytes, depth: int) -> None:
        """Take in one more value, found `depth` levels deep."""
        kind = kind_of(text)
        if kind == "object":
            self._add_object(text, depth)
        elif kind == "array":
            self._add_array(text, depth)
        elif kind == "number":
            self._meet(_number_kind(text))
        elif kind != "null":
            self._meet(kind)

    def _meet(self, kind: str) -> None:
        if kind == NOTHING or self.kind == kind:
            return
        if self.kind == NOTHING:
            self.kind = kind
        elif {self.kind, kind} == _NUMBERS:
            self.kind = "double"
        else:
            self.kind = CONFLICT

    def _add_object(self, text: bytes, depth: int) -> None:
        members = members_of(text)
        self._meet(("struct" if depth < MAX_NESTING else CONFLICT) if members else NOTHING)
        if self.kind == "struct":
            named = ((name, part) for name, part in members.items() if may_be_column(name))
            for name, part in named:
                self.fields.setdefault(name, SeenField()).add(bytes(part), depth + 1)

    def _add_array(self, text: bytes, depth: int) -> None:
        items = items_of(text)
        self._meet(("list" if depth < MAX_NESTING else CONFLICT) if items else NOTHING)
        if self.kind == "list":
            self.item = self.item or SeenField()
            for part in items:
                self.item.add(bytes(part), depth + 1)

    def type(self) -> FieldType | None:
        """The type that holds all values seen, or None for nothing, or for a conflict."""
        if self.kind in _SCALARS:
            return _SCALARS[self.kind]
        if self.kind == "list" and self.item is not None:
            item = self.item.type()
            return None if item is None else list_of(item)
        if self.kind == "struct":
            fields = with_columns(self.entries(), top=False)
            return struct_of(fields) if fields else None
        return None

    def entries(self) -> list[tuple[str, FieldType, bool]]:
        """The fields of an object that have a type, in the order in which they were first met."""
        typed = ((name, seen.type()) for name, seen in self.fields.items())
        return [(name, kind, True) for name, kind in typed if kind is not None]


def _number_kind(text: bytes) -> str:
    """The kind of column a number asks for; one that fits no column teaches nothing."""
    if not is_integer(text):
        return NOTHING if abs(float(text)) == float("inf") else "double"
    fits = len(text) <= 20 and INT64_MIN <= int(text) <= INT64_MAX
    return "int64" if fits else NOTHING


def may_be_column(name: str) -> bool:
    """False for a name that is so long that its fields are given no column."""
    return len(name) <= _LONGEST_NAME and len(name.encode()) <= _LONGEST_NAME


def is_learnable(text: bytes) -> bool:
    """True when a field with this value could be given a column; a long one always could."""
    if len(text) > _LONG:
        return True
    seen = SeenField()
    seen.add(text, 1)
    return seen.type() is not None


def see(samples: Iterable[bytes], limits: Limits) -> SeenField:
    """Everything seen in the samples that are JSON objects; the others are passed over."""
    root = SeenField()
    root.kind = "struct"
    for payload in samples:
        if fault_of(payload, limits) is None:
            root.add(payload.strip(b" \t\r\n"), 0)
    return root


def infer(samples: Iterable[bytes], dataset: str, version: int, limits: Limits) -> DatasetSchema:
    """The schema that the samples suggest; a field more than the limit gets no column."""
    entries = see(samples, limits).entries()
    fields = with_columns(_within(entries, MAX_FIELDS), top=True)
    return DatasetSchema(dataset, version, declared=False, fields=fields)


def _within(
    entries: Iterable[tuple[str, FieldType, bool]], budget: int
) -> list[tuple[str, FieldType, bool]]:
    """The entries that the budget of fields allows, first come, first served."""
    kept = []
    for name, kind, nullable in entries:
        cost = 1 + count_nested(kind)
        if cost <= budget:
            kept.append((name, kind, nullable))
            budget -= cost
    return kept


def promote(schema: DatasetSchema, samples: Iterable[bytes], limits: Limits) -> DatasetSchema:
    """The next version, with columns for new fields; the same schema if there is nothing to add.

    Columns that exist keep their place, name and type; objects may gain fields inside. A declared
    schema is changed by its declaration only.
    """
    if schema.declared:
        return schema
    budget = MAX_FIELDS - count_fields(schema.fields)
    fields = _Growth(budget).fields(schema.fields, see(samples, limits), top=True)
    if fields == schema.fields:
        return schema
    return DatasetSchema(schema.dataset, schema.version + 1, declared=False, fields=fields)


class _Growth:
    """Adds what was seen to the fields that exist, as long as the budget of fields lasts."""

    def __init__(self, budget: int) -> None:
        self._budget = budget

    def fields(self, known: tuple[Field, ...], seen: SeenField, *, top: bool) -> tuple[Field, ...]:
        """The known fields, grown inside, then the new ones."""
        grown = tuple(self._field(field, seen.fields.get(field.name)) for field in known)
        names = {field.name for field in known}
        new = _within([each for each in seen.entries() if each[0] not in names], self._budget)
        self._budget -= sum(1 + count_nested(kind) for _, kind, _ in new)
        return with_columns(new, kept=grown, top=top)

    def _field(self, field: Field, seen: SeenField | None) -> Field:
        if seen is None:
            return field
        return Field(field.name, field.column, self._type(field.type, seen), field.nullable)

    def _type(self, kind: FieldType, seen: SeenField) -> FieldType:
        """The same type; only structs, also those in lists, gain fields."""
        if kind.kind == "struct" and seen.kind == "struct":
            return struct_of(self.fields(kind.fields, seen, top=False))
        if kind.kind == "list" and seen.kind == "list" and kind.item and seen.item:
            return list_of(self._type(kind.item, seen.item), kind.item_nullable)
        return kind
