"""`penstock schema`: the columns of a dataset, and how they changed."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.api.doors import FORMATS
from penstock.api.file_format import FileFormat
from penstock.api.find import find
from penstock.cli.common import feed_named, print_rows
from penstock.cli.errors import UsageMistake
from penstock.datapath.schemas.ddl import Dialect, ddl, own_columns, type_name
from penstock.datapath.schemas.schema_objects import stored_schemas
from penstock.datapath.shape.route.directories import keys_as_read
from penstock.datapath.stage.split_rows import partition_keys
from penstock.model.names import encode_component
from penstock.model.schema import REST, DatasetSchema, Field, FieldType
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.protocol.journal.journal_place import check_named

Row = dict[str, object]
Change = tuple[str, str, str]  # what, of which column, and its type
_SIGNS = {"added": "+", "nullable": "?", "required": "!", "unit": "~"}
_REST_ROW: Row = {"column": REST, "null": "yes", "field": "(what did not fit)", "type": "string"}
_UNITS = {1: "us", 1_000: "ms", 1_000_000: "s"}


@dataclass(frozen=True, slots=True)
class _Opened:
    """A feed, and the versions of the schemas that are meant, by dataset."""

    spec: LakeSpec
    feed: FeedSpec
    datasets: dict[str, dict[int, DatasetSchema]]
    is_whole_feed: bool

    def named(self, dataset: str, rows: Sequence[Row]) -> list[Row]:
        """Rows with the name of their dataset, if those of several are printed."""
        return [{"dataset": dataset, **row} if self.is_whole_feed else row for row in rows]


def run_show(chosen: argparse.Namespace) -> int:
    """Print the columns of a dataset or of all, or statements."""
    opened = _opened(chosen)
    _require_dataset(chosen, opened, chosen.version is not None)
    for versions in opened.datasets.values():
        wanted = max(versions) if chosen.version is None else chosen.version
        _show(chosen, opened, _version(chosen, versions, wanted))
    return 0


def _show(chosen: argparse.Namespace, opened: _Opened, schema: DatasetSchema) -> None:
    """Print one version of a dataset."""
    if chosen.ddl:
        print(_statement(opened, schema, chosen.ddl))
    elif chosen.output == "json":
        print_rows([msgspec.to_builtins(schema)], "json")
    else:
        title = f"{schema.dataset}: " if opened.is_whole_feed else ""
        source = "declared" if schema.declared else "learned from records"
        print(f"{title}version {schema.version}, {source}")
        print_rows([*map(_row, schema.fields), _REST_ROW], "text")


def _statement(opened: _Opened, schema: DatasetSchema, dialect: Dialect) -> str:
    feed = opened.feed
    keys = partition_keys(feed, _declared(feed, schema.dataset))
    place = f"{opened.spec.lake.uri}/{feed.name}/{schema.dataset}"
    form = _format_for(feed, dialect)
    return ddl(schema, dialect, place, keys_as_read(keys), own_columns(feed), form=form)


def run_diff(chosen: argparse.Namespace) -> int:
    """Print the changes between two versions."""
    opened = _opened(chosen)
    _require_dataset(chosen, opened, bool(chosen.versions))
    if len(chosen.versions) > 2:
        raise UsageMistake("More than two versions are given.", "Give one, two or none.")
    rows: list[Row] = []
    for dataset, versions in opened.datasets.items():
        newest = max(versions)
        first, last = (*chosen.versions, newest)[:2] if chosen.versions else (newest - 1, newest)
        before = _version(chosen, versions, first) if first else None
        found = _all_changes(before, _version(chosen, versions, last))
        told: list[Row] = [
            dict(zip(("change", "column", "type"), each, strict=True)) for each in found
        ]
        rows += opened.named(dataset, told)
    print_rows(rows, chosen.output)
    return 0


def run_history(chosen: argparse.Namespace) -> int:
    """Print the versions, oldest first."""
    opened = _opened(chosen)
    rows: list[Row] = []
    for dataset, versions in opened.datasets.items():
        rows += opened.named(dataset, _history(versions))
    print_rows(rows, chosen.output)
    return 0


def _history(versions: dict[int, DatasetSchema]) -> list[Row]:
    rows: list[Row] = []
    before: DatasetSchema | None = None
    for number, schema in sorted(versions.items()):
        found = _all_changes(before, schema)
        brought = [f"{_SIGNS.get(kind, kind)}{name}" for kind, name, _ in found]
        shown = "all" if not rows else " ".join(brought)
        rows.append({"version": number, "columns": len(schema.fields), "changes": shown})
        before = schema
    return rows


def changes(before: tuple[Field, ...], after: tuple[Field, ...], path: str = "") -> list[Change]:
    """The changes in a later version, with nested fields by their path.

    Fields are added; they are nullable now, or required again; or their times are counted in
    another unit. The values of a list or a map are at the path of the field and `[]`.
    """
    known = {field.name: field for field in before}
    found: list[Change] = []
    for field in after:
        name = f"{path}{field.column}"
        old = known.get(field.name)
        if old is None:
            found.append(("added", name, type_name(field.type)))
            continue
        found += _relaxed(name, field.type, old.nullable, field.nullable)
        found += _changes_of(name, old.type, field.type)
    return found


def _all_changes(before: DatasetSchema | None, after: DatasetSchema) -> list[Change]:
    """The changes of a version, beginning with `declared` or `learned`."""
    if before is None:
        return changes((), after.fields)
    said = "declared" if after.declared else "learned"
    told = [(said, "", "")] if before.declared != after.declared else []
    return [*told, *changes(before.fields, after.fields)]


def _changes_of(name: str, old: FieldType, new: FieldType) -> list[Change]:
    """The changes inside a type."""
    if old.item is not None and new.item is not None:
        item = f"{name}[]"
        relaxed = _relaxed(item, new.item, old.item_nullable, new.item_nullable)
        return [*relaxed, *_changes_of(item, old.item, new.item)]
    if old.unit_us != new.unit_us:
        unit = _UNITS.get(new.unit_us, f"{new.unit_us} us")
        return [("unit", name, f"{type_name(new)} in {unit}")]
    return changes(old.fields, new.fields, f"{name.replace('[]', '')}.")


def _relaxed(name: str, kind: FieldType, before: bool, after: bool) -> list[Change]:
    if before == after:
        return []
    return [("nullable" if after else "required", name, type_name(kind))]


def _row(field: Field) -> Row:
    """A line of the table. The type is last: that of a nested field can be any number of lines."""
    return {
        "column": field.column,
        "null": "yes" if field.nullable else "no",
        "field": field.name if field.name != field.column else "",
        "type": type_name(field.type),
    }


def _opened(chosen: argparse.Namespace) -> _Opened:
    """The feed, and all versions of the schema of one dataset or of all."""
    name, slash, dataset = chosen.what.partition("/")
    if slash and not dataset:
        raise UsageMistake(f"{chosen.what!r} does not name a dataset.", "Write FEED/DATASET.")
    spec, feed, journal = feed_named(chosen, name)
    check_named(journal, listed=True)  # schemas lie with the journal, which is not opened here
    kept = stored_schemas(journal.store, journal.layout.schemas)
    found: dict[str, dict[int, DatasetSchema]] = {}
    for schema in sorted(kept, key=lambda each: (each.dataset, each.version)):
        if not slash or schema.dataset == encode_component(dataset):
            found.setdefault(schema.dataset, {})[schema.version] = schema
    if not found:
        known = ", ".join(sorted({schema.dataset for schema in kept}))
        what = f"dataset {dataset!r}" if slash else "dataset"
        raise UsageMistake(f"Feed {name!r} has no {what}.", f"It has: {known or 'none yet'}.")
    return _Opened(spec, feed, found, is_whole_feed=not slash)


def _require_dataset(chosen: argparse.Namespace, opened: _Opened, is_one_meant: bool) -> None:
    """Refuse the number of a version for all datasets of a feed: each has versions of its own."""
    if opened.is_whole_feed and is_one_meant:
        known = ", ".join(opened.datasets)
        raise UsageMistake(
            f"A version is that of one dataset, and {chosen.what!r} does not name one.",
            f"Write FEED/DATASET. It has: {known}.",
        )


def _format_for(feed: FeedSpec, dialect: str) -> FileFormat:
    """The format of a feed's files, if readers of that dialect can read it."""
    form = find(FORMATS, feed.format)
    if dialect not in form.table_clauses:
        readers = ", ".join(sorted(form.table_clauses)) or "none of them"
        raise UsageMistake(
            f"Tables of {dialect} cannot be made of {feed.format} files.",
            f"These readers can: {readers}.",
        )
    return form


def _version(
    chosen: argparse.Namespace, versions: dict[int, DatasetSchema], number: int
) -> DatasetSchema:
    if number not in versions:
        raise UsageMistake(
            f"{chosen.what} has no version {number}.", f"It has 1 to {max(versions)}."
        )
    return versions[number]


def _declared(feed: FeedSpec, dataset: str) -> Any:
    return next((d for d in feed.datasets if encode_component(d.route) == dataset), None)
