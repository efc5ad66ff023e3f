"""A dataset's schema in the words of those who read it: Spark, Hive and Trino."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from penstock.model.schema import REST, DatasetSchema, FieldType

Dialect = Literal["spark", "hive", "trino"]
DIALECTS: tuple[Dialect, ...] = ("spark", "hive", "trino")


@dataclass(frozen=True, slots=True)
class _Words:
    """How a dialect spells types and names."""

    plain: dict[str, str]
    quote: str
    array: str
    map: str
    struct: Callable[[list[tuple[str, str]]], str]


def _angled(members: list[tuple[str, str]]) -> str:
    return "struct<" + ", ".join(f"{name}: {kind}" for name, kind in members) + ">"


def _row(members: list[tuple[str, str]]) -> str:
    return "row(" + ", ".join(f"{name} {kind}" for name, kind in members) + ")"


_HIVE = {
    "boolean": "boolean",
    "int64": "bigint",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp_us": "timestamp",
    "local_us": "timestamp",
}
_TRINO = _HIVE | {
    "string": "varchar",
    "binary": "varbinary",
    "timestamp_us": "timestamp(6)",
    "local_us": "timestamp(6)",
}
_SPARK = _HIVE | {"local_us": "timestamp_ntz"}
_DIALECTS: dict[Dialect, _Words] = {
    "spark": _Words(_SPARK, "`", "array<{}>", "map<string, {}>", _angled),
    "hive": _Words(_HIVE, "`", "array<{}>", "map<string, {}>", _angled),
    "trino": _Words(_TRINO, '"', "array({})", "map(varchar, {})", _row),
}


def type_name(kind: FieldType, dialect: Dialect = "spark") -> str:
    """A type as a dialect spells it."""
    words = _DIALECTS[dialect]
    if kind.item is not None:
        wrap = words.array if kind.kind == "list" else words.map
        return wrap.format(type_name(kind.item, dialect))
    if kind.fields:
        return words.struct(
            [(_quoted(f.column, words), type_name(f.type, dialect)) for f in kind.fields]
        )
    if kind.kind == "decimal":
        return f"decimal({kind.precision}, {kind.scale})"
    return words.plain[kind.kind]


def columns_of(schema: DatasetSchema, dialect: Dialect) -> list[tuple[str, str]]:
    """Every column of a file, with its type: the event's, what had no column, and ours."""
    words = _DIALECTS[dialect]
    found = [(field.column, type_name(field.type, dialect)) for field in schema.fields]
    text, integer = words.plain["string"], "integer" if dialect == "trino" else "int"
    zoned = "timestamp(3)" if dialect == "trino" else "timestamp"
    ours = [("_topic", text), ("_partition", integer), ("_offset", words.plain["int64"])]
    return [*found, (REST, text), *ours, ("_timestamp", zoned)]


def ddl(
    schema: DatasetSchema, dialect: Dialect, table: str, place: str, levels: tuple[str, ...]
) -> str:
    """A statement that makes a table of the dataset's directory; `levels` are its directories."""
    words = _DIALECTS[dialect]
    listed = [(_quoted(name, words), kind) for name, kind in columns_of(schema, dialect)]
    text = words.plain["string"]
    keys = [(_quoted(name, words), "date" if name == "day" else text) for name in levels]
    name = _quoted(table, words)
    if dialect == "trino":
        lines = _lines([*listed, *keys])
        by = ", ".join(f"'{level}'" for level in levels)
        partitioned = f", partitioned_by = ARRAY[{by}]" if levels else ""
        options = f"external_location = '{place}', format = 'PARQUET'{partitioned}"
        return f"CREATE TABLE {name} (\n{lines}\n)\nWITH ({options});"
    if dialect == "hive":
        by = f"\nPARTITIONED BY ({', '.join(' '.join(key) for key in keys)})" if keys else ""
        return (
            f"CREATE EXTERNAL TABLE {name} (\n{_lines(listed)}\n){by}\n"
            f"STORED AS PARQUET\nLOCATION '{place}';"
        )
    by = f"\nPARTITIONED BY ({', '.join(key for key, _ in keys)})" if keys else ""
    return (
        f"CREATE TABLE {name} (\n{_lines([*listed, *keys])}\n)\n"
        f"USING PARQUET{by}\nLOCATION '{place}';"
    )


def _lines(columns: list[tuple[str, str]]) -> str:
    return ",\n".join(f"  {name} {kind}" for name, kind in columns)


def _quoted(name: str, words: _Words) -> str:
    return words.quote + name.replace(words.quote, 2 * words.quote) + words.quote
