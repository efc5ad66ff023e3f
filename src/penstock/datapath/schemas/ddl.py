"""A dataset's schema in the words of those who read it: Spark, Hive and Trino."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from penstock.api.file_format import FileFormat
from penstock.model.fork import ROW_COLUMN
from penstock.model.schema import REST, DatasetSchema, FieldType
from penstock.model.spec import FeedSpec

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
    names: Callable[[Sequence[str]], Sequence[str]] = list


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


def _words(dialect: Dialect, form: FileFormat | None) -> _Words:
    words = _DIALECTS[dialect]
    if form is None:
        return words
    clause = form.table_clauses[dialect]
    return replace(words, plain={**words.plain, **clause.types}, names=clause.names)


def type_name(kind: FieldType, dialect: Dialect = "spark", form: FileFormat | None = None) -> str:
    """A type as a dialect spells it; with a format, as it does for files of that format."""
    words = _words(dialect, form)
    if kind.item is not None:
        wrap = words.array if kind.kind == "list" else words.map
        return wrap.format(type_name(kind.item, dialect, form))
    if kind.fields:
        names = words.names([each.column for each in kind.fields])
        types = [type_name(each.type, dialect, form) for each in kind.fields]
        quoted = [_quoted(name, words) for name in names]
        return words.struct(list(zip(quoted, types, strict=True)))
    if kind.kind == "decimal":
        return f"decimal({kind.precision}, {kind.scale})"
    return words.plain[kind.kind]


def own_columns(feed: FeedSpec) -> tuple[str, ...]:
    """The columns that files of a feed have besides those that all files have."""
    wanted = [
        name for name in ("key", "headers", "window", "timestamp_type") if name in feed.include
    ]
    rows = (ROW_COLUMN,) if feed.has_rows else ()
    return (*rows, *(f"_{name}" for name in wanted))


def columns_of(
    schema: DatasetSchema,
    dialect: Dialect,
    own: tuple[str, ...] = (),
    form: FileFormat | None = None,
) -> list[tuple[str, str]]:
    """Every column of a file, with its type: the event's, what had no column, and ours."""
    words = _words(dialect, form)
    plain = words.plain
    found = [(field.column, type_name(field.type, dialect, form)) for field in schema.fields]
    text, integer = plain["string"], "integer" if dialect == "trino" else "int"
    ours = [("_topic", text), ("_partition", integer), ("_offset", plain["int64"])]
    texts = dict.fromkeys(("_headers", "_window", "_timestamp_type"), text)
    more = {"_key": plain["binary"], **texts, ROW_COLUMN: integer}
    kafka_time = ("_timestamp", plain.get("kafka_ms", plain["timestamp_us"]))
    kinds = [*ours, kafka_time, *((name, more[name]) for name in own)]
    columns = [*found, (REST, text), *kinds]
    names = words.names([name for name, _ in columns])
    return [(name, kind) for name, (_, kind) in zip(names, columns, strict=True)]


def table_name(dataset: str) -> str:
    """A name that every catalog takes for a table."""
    return re.sub(r"[^A-Za-z0-9_]", "_", dataset)


def ddl(
    schema: DatasetSchema,
    dialect: Dialect,
    place: str,
    levels: tuple[str, ...],
    own: tuple[str, ...] = (),
    *,
    form: FileFormat,
) -> str:
    """A statement that makes a table of the dataset's directory; `levels` are its directories.

    `own` are the columns that its files have besides those that all have, `form` is their format,
    which must have a clause for the dialect. Behind it, as a comment, is the statement that makes
    directories known.
    """
    words, clause = _DIALECTS[dialect], form.table_clauses[dialect].words
    columns = columns_of(schema, dialect, own, form)
    listed = [(_quoted(name, words), kind) for name, kind in columns]
    text = words.plain["string"]
    keys = [(_quoted(name, words), "date" if name == "day" else text) for name in levels]
    name, place = _quoted(table_name(schema.dataset), words), _text(place, dialect)
    known, columns_and_keys = _known(schema, dialect, levels), _lines([*listed, *keys])
    match dialect:
        case "trino":
            by = ", ".join(_text(level, dialect) for level in levels)
            partitioned = f", partitioned_by = ARRAY[{by}]" if levels else ""
            options = f"external_location = {place}, {clause}{partitioned}"
            return f"CREATE TABLE {name} (\n{columns_and_keys}\n)\nWITH ({options});{known}"
        case "hive":
            by = f"\nPARTITIONED BY ({', '.join(' '.join(key) for key in keys)})" if keys else ""
            return (
                f"CREATE EXTERNAL TABLE {name} (\n{_lines(listed)}\n){by}\n"
                f"{clause}\nLOCATION {place};{known}"
            )
        case "spark":
            by = f"\nPARTITIONED BY ({', '.join(key for key, _ in keys)})" if keys else ""
            return (
                f"CREATE TABLE {name} (\n{columns_and_keys}\n)\n"
                f"{clause}{by}\nLOCATION {place};{known}"
            )
        case _ as never:
            assert_never(never)


def _known(schema: DatasetSchema, dialect: Dialect, levels: tuple[str, ...]) -> str:
    """What makes directories known, as a comment: it has to be said again for new ones."""
    if not levels:
        return ""
    table = table_name(schema.dataset)
    statement = f"MSCK REPAIR TABLE {_quoted(table, _DIALECTS[dialect])};"
    if dialect == "trino":
        # By itself it passes over directories whose keys have capitals.
        cased = "" if all(level == level.lower() for level in levels) else ", false"
        called = f"'<schema>', '{table.lower()}', 'ADD'{cased}"
        statement = f"CALL system.sync_partition_metadata({called});"
    return f"\n-- Now, and whenever there are new directories:\n-- {statement}"


def _text(text: str, dialect: Dialect) -> str:
    """A text in single quotes; only Trino takes a backslash as it is."""
    if dialect == "trino":
        return "'" + text.replace("'", "''") + "'"
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _lines(columns: list[tuple[str, str]]) -> str:
    return ",\n".join(f"  {name} {kind}" for name, kind in columns)


def _quoted(name: str, words: _Words) -> str:
    return words.quote + name.replace(words.quote, 2 * words.quote) + words.quote
