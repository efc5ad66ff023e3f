"""Schemas as numbered objects in the lake: created once, never changed."""

from collections.abc import Iterable

import msgspec

from penstock.api.store import Store
from penstock.errors import EntryDamaged
from penstock.model.schema import DatasetSchema
from penstock.model.stored_schema import SCHEMA_FORMAT, decode_schema, encode_schema
from penstock.model.wire_formats import newer_or
from penstock.ports.store.create_once import create_once
from penstock.ports.store.list_keys import list_keys


def store_schema(store: Store, prefix: str, schema: DatasetSchema) -> DatasetSchema:
    """Store a version of a schema; returns the one that is there if another process was first."""
    key = _key(prefix, schema.dataset, schema.version)
    other = create_once(store, key, encode_schema(schema))
    return schema if other is None else _decode(key, other)


def schema_version(store: Store, prefix: str, dataset: str, version: int) -> DatasetSchema:
    """One version of a schema; entries name it, so it must be there."""
    key = _key(prefix, dataset, version)
    raw = store.read(key)
    if raw is None:
        raise EntryDamaged(key, "it is gone, and an entry of the journal names it")
    return _decode(key, raw)


def stored_schemas(store: Store, prefix: str) -> list[DatasetSchema]:
    """Every version of every schema below a directory of the lake."""
    found = []
    for key in list_keys(store, prefix):
        raw = store.read(key)
        if raw is not None:
            found.append(_decode(key, raw))
    return found


def newest(schemas: Iterable[DatasetSchema]) -> dict[str, DatasetSchema]:
    """The newest version of each dataset's schema."""
    found: dict[str, DatasetSchema] = {}
    for schema in schemas:
        known = found.get(schema.dataset)
        if known is None or known.version < schema.version:
            found[schema.dataset] = schema
    return found


def _key(prefix: str, dataset: str, version: int) -> str:
    return f"{prefix}/{dataset}/{version:06}.json"


def _decode(key: str, raw: bytes) -> DatasetSchema:
    try:
        return decode_schema(raw)
    except (msgspec.MsgspecError, ValueError) as error:  # bytes that are not UTF-8 are a ValueError
        raise newer_or(
            EntryDamaged(key, f"it is not a schema: {error}"), raw, SCHEMA_FORMAT
        ) from error
