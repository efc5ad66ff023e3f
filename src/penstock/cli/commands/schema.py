"""`penstock schema`: the columns of a dataset, and how they changed."""

import argparse
from typing import Any

import msgspec

from penstock.api.doors import FORMATS
from penstock.api.file_format import FileFormat
from penstock.api.find import find
from penstock.cli.common import feed_named, print_rows
from penstock.cli.errors import UsageMistake
from penstock.datapath.schemas.ddl import ddl, own_columns, type_name
from penstock.datapath.schemas.schema_objects import stored_schemas
from penstock.datapath.shape.route.directories import keys_as_read
from penstock.datapath.stage.split_rows import partition_keys
from penstock.model.names import encode_component
from penstock.model.schema import REST, DatasetSchema, Field, FieldType
from penstock.model.spec import FeedSpec, LakeSpec

Row = dict[str, object]
Change = tuple[str, str, str]  # what, of which column, and its type
_SIGNS = {"added": "+", "nullable": "?", "required": "!", "unit": "~"}
_REST_ROW: Row = {"column": REST, "type": "string", "null": "yes", "field": "(what did not fit)"}
_UNITS = {1: "us", 1_000: "ms", 1_000_000: "s"}


def run_show(chosen: argparse.Namespace) -> int:
    """Print the columns, or a statement."""
    spec, feed, versions = _opened(chosen)
    wanted = max(versions) if chosen.version is None else chosen.version
    schema = _version(chosen, versions, wanted)
    if chosen.ddl:
        keys = partition_keys(feed, _declared(feed, schema.dataset))
        place = f"{spec.lake.uri}/{feed.name}/{schema.dataset}"
        form = _format_for(feed, chosen.ddl)
        print(ddl(schema, chosen.ddl, place, keys_as_read(keys), own_columns(feed), form=form))
        return 0
    if chosen.output == "json":
        print_rows([msgspec.to_builtins(schema)], "json")
        return 0
    print(f"version {schema.version}, {'declared' if schema.declared else 'learned from records'}")
    print_rows([*map(_row, schema.fields), _REST_ROW], "text")
    return 0


def run_diff(chosen: argparse.Namespace) -> int:
    """Print the changes between two versions."""
    _, _, versions = _opened(chosen)
    newest = max(versions)
    if len(chosen.versions) > 2:
        raise UsageMistake("More than two versions are given.", "Give one, two or none.")
    first, last = (*chosen.versions, newest)[:2] if chosen.versions else (newest - 1, newest)
    before = _version(chosen, versions, first) if first else None
    rows = _all_changes(before, _version(chosen, versions, last))
    told = [{"change": kind, "column": name, "type": words} for kind, name, words in rows]
    print_rows(told, chosen.output)
    return 0


def run_history(chosen: argparse.Namespace) -> int:
    """Print the versions, oldest first."""
    _, _, versions = _opened(chosen)
    rows: list[Row] = []
    before: DatasetSchema | None = None
    for number, schema in sorted(versions.items()):
        found = _all_changes(before, schema)
        brought = [f"{_SIGNS.get(kind, kind)}{name}" for kind, name, _ in found]
        shown = "all" if not rows else " ".join(brought)
        rows.append({"version": number, "columns": len(schema.fields), "changes": shown})
        before = schema
    print_rows(rows, chosen.output)
    return 0


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
    return {
        "column": field.column,
        "type": type_name(field.type),
        "null": "yes" if field.nullable else "no",
        "field": field.name if field.name != field.column else "",
    }


def _opened(chosen: argparse.Namespace) -> tuple[LakeSpec, FeedSpec, dict[int, DatasetSchema]]:
    """The feed, and all versions of the dataset's schema."""
    name, slash, dataset = chosen.what.partition("/")
    if not slash or not dataset:
        raise UsageMistake(f"{chosen.what!r} does not name a dataset.", "Write FEED/DATASET.")
    spec, feed, journal = feed_named(chosen, name)
    kept = stored_schemas(journal.store, journal.layout.schemas)
    versions = {s.version: s for s in kept if s.dataset == encode_component(dataset)}
    if not versions:
        known = ", ".join(sorted({schema.dataset for schema in kept}))
        raise UsageMistake(
            f"Feed {name!r} has no dataset {dataset!r}.", f"It has: {known or 'none yet'}."
        )
    return spec, feed, versions


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
