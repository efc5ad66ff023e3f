"""A dataset's schema as a frozen value: which event field becomes which column of which type.

A schema is fixed on the driver, stored in the lake, and sent to executors. It does not depend on
the library that writes columns. Integers have 64 bits and floating point numbers are doubles from
the start, because readers cannot merge files whose columns differ in width.
"""

from collections.abc import Iterable, Set
from typing import Literal

from penstock.model.value import Value

Kind = Literal[
    "boolean",
    "int64",
    "double",
    "string",
    "binary",
    "date",
    "timestamp_us",
    "local_us",
    "decimal",
    "list",
    "map",
    "struct",
]

# The types that a configuration can settle, and such types by path; see `pinned_types`.
PinnedType = Literal["string", "int64", "double", "boolean", "timestamp", "json"]
PinnedTypes = tuple[tuple[str, PinnedType], ...]

# What a column takes beyond the values of its own kind; see `FieldType`.
Accepts = Literal["", "scalars", "json"]
# The kinds of scalars as JSON Schema calls them; integers are numbers too.
ScalarKind = Literal["boolean", "integer", "number", "string"]

MAX_FIELDS = 1_000  # nested ones count
MAX_NESTING = 32
MAX_PRECISION = 38
RESERVED_COLUMNS = frozenset({"day", "hour", "minute"})  # directory keys of the lake
RESERVED_PREFIX = "by_"  # directory keys that come from fields
REST = "_rest"  # JSON text of values without a column


class Field(Value, frozen=True, omit_defaults=True):
    """One event field: its name in events, and its column."""

    name: str
    column: str
    type: "FieldType"
    nullable: bool = True


class FieldType(Value, frozen=True, omit_defaults=True):
    """A closed, recursive description of a column's type.

    `item` belongs to lists and to maps (whose keys are strings), `fields` to structs, `precision`
    and `scale` to decimals. A `date` is written in events as days since 1970, a `timestamp_us` as
    a count of `unit_us` microseconds, and so is a `local_us`, a time without a zone.

    `accepts` says how values of JSON records are read; the column is the same without it:

        string, scalars         the content of a text; a number, true or false exactly as it is
                                written: 17, 1.50, 1e3; an object or an array does not fit
        string, json            the text of any value but null, exactly as it is written; a text
                                keeps its quotes
        timestamp_us, scalars   a number of s, ms, us or ns, or a text in ISO 8601

    `only` has the kinds of scalars that a declared text takes; all of them if it is empty.
    """

    kind: Kind
    item: "FieldType | None" = None
    item_nullable: bool = True
    fields: tuple[Field, ...] = ()
    precision: int = 0
    scale: int = 0
    unit_us: int = 1
    accepts: Accepts = ""
    only: tuple[ScalarKind, ...] = ()

    def __post_init__(self) -> None:
        """Refuse types that no column can have."""
        if (self.kind in {"list", "map"}) != (self.item is not None):
            raise ValueError(f"a {self.kind} and its item type do not go together")
        if (self.kind == "struct") != bool(self.fields):
            raise ValueError(f"a {self.kind} and its fields do not go together")
        if self.kind == "decimal" and not 0 <= self.scale <= self.precision <= MAX_PRECISION:
            raise ValueError(f"decimal({self.precision}, {self.scale}) is not a decimal type")
        if self.kind == "decimal" and self.precision < 1:
            raise ValueError("a decimal has at least one digit")
        if self.unit_us < 1:
            raise ValueError("a timestamp counts at least one microsecond at a time")
        if self.accepts and (self.kind, self.accepts) not in _ACCEPTING:
            raise ValueError(f"a {self.kind} cannot accept {self.accepts}")
        if self.only and (self.kind, self.accepts) != ("string", "scalars"):
            raise ValueError(f"a {self.kind} cannot accept only some scalars")


_ACCEPTING = frozenset({("string", "scalars"), ("string", "json"), ("timestamp_us", "scalars")})


BOOLEAN = FieldType("boolean")
INT64 = FieldType("int64")
DOUBLE = FieldType("double")
STRING = FieldType("string")
BINARY = FieldType("binary")
DATE = FieldType("date")
TEXT_OF_SCALARS = FieldType("string", accepts="scalars")
TEXT_OF_JSON = FieldType("string", accepts="json")
TIMESTAMP_US = FieldType("timestamp_us")
TIME_OF_SCALARS = FieldType("timestamp_us", accepts="scalars")
TIMESTAMP_MS = FieldType("timestamp_us", unit_us=1_000)


def text_of(kinds: Set[ScalarKind]) -> FieldType:
    """The type of texts that are made of these kinds of scalars."""
    if kinds >= {"boolean", "number", "string"}:
        return TEXT_OF_SCALARS
    return FieldType("string", accepts="scalars", only=tuple(sorted(kinds)))


def list_of(item: FieldType, item_nullable: bool = True) -> FieldType:
    """The type of a list."""
    return FieldType("list", item=item, item_nullable=item_nullable)


def map_of(item: FieldType, item_nullable: bool = True) -> FieldType:
    """The type of an object whose keys are data."""
    return FieldType("map", item=item, item_nullable=item_nullable)


def struct_of(fields: Iterable[Field]) -> FieldType:
    """The type of an object whose keys are known."""
    return FieldType("struct", fields=tuple(fields))


def decimal_of(precision: int, scale: int) -> FieldType:
    """The type of exact numbers with `scale` decimal places."""
    return FieldType("decimal", precision=precision, scale=scale)


class DatasetSchema(Value, frozen=True):
    """One numbered version of a dataset's schema.

    `declared`: the user wrote it, and a record that does not fit goes to the quarantine. Otherwise
    it was inferred, and values that do not fit go to the `_rest` column.
    """

    dataset: str
    version: int
    declared: bool
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        """Refuse columns that differ only by case, and names of Penstock's own columns."""
        columns = [field.column.casefold() for field in self.fields]
        if len(set(columns)) != len(columns):
            raise ValueError("two columns differ at most by case")
        for column in columns:
            ours = column in RESERVED_COLUMNS or column.startswith(("_", RESERVED_PREFIX))
            if not column or ours:
                raise ValueError(f"{column!r} cannot be a column")

    def renamed(self) -> tuple[Field, ...]:
        """The top-level fields whose column has another name."""
        return tuple(field for field in self.fields if field.name != field.column)


def column_for(name: str, taken: Set[str], *, top: bool) -> str:
    """The column of a field, given the case-folded columns that are `taken`.

    At the top level a leading `_` moves to the end, and directory keys get one: `_id` and `day`
    become `id_` and `day_`. A name that could be the directory key of a field gets a prefix:
    `by_country` becomes `field_by_country`. This holds for all possible keys, because partitioning
    may change later and columns may not. At all levels a name that is taken gets a number:
    `userid__2`.
    """
    column = name or "field_"
    if top and column.startswith("_"):
        column = f"{column.lstrip('_') or 'field'}_"
    if top and column.casefold() in RESERVED_COLUMNS:
        column = f"{column}_"
    if top and column.casefold().startswith(RESERVED_PREFIX):
        column = f"field_{column}"
    plain, number = column, 2
    while column.casefold() in taken:
        column, number = f"{plain}__{number}", number + 1
    return column


def with_columns(
    entries: Iterable[tuple[str, FieldType, bool]], kept: tuple[Field, ...] = (), *, top: bool
) -> tuple[Field, ...]:
    """`kept` as they are, then one field per (name, type, nullable), each with its own column."""
    fields = list(kept)
    taken = {field.column.casefold() for field in kept}
    for name, kind, nullable in entries:
        column = column_for(name, taken, top=top)
        taken.add(column.casefold())
        fields.append(Field(name, column, kind, nullable))
    return tuple(fields)


def count_fields(fields: Iterable[Field]) -> int:
    """How many fields there are, nested ones included."""
    return sum(1 + count_nested(field.type) for field in fields)


def count_nested(kind: FieldType) -> int:
    """How many fields are inside a type."""
    inside = 0 if kind.item is None else count_nested(kind.item)
    return inside + count_fields(kind.fields)
