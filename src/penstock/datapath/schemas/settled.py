"""Types that the configuration settles, for a dataset that has columns already.

A column of texts may begin to accept numbers too, and a field without a column is free. All else
would be another type for a column that files have.
"""

import msgspec

from penstock.api.store import Store
from penstock.datapath.schemas.errors import SchemaRefused
from penstock.datapath.schemas.schema_objects import newest, stored_schemas
from penstock.model.layout import Layout
from penstock.model.names import encode_component
from penstock.model.pinned_types import FeedTypes, TypeTree, feed_types
from penstock.model.schema import STRING, TEXT_OF_SCALARS, DatasetSchema, Field, FieldType
from penstock.model.schema_merging import Incompatible
from penstock.model.spec import FeedSpec

Fields = tuple[Field, ...]


def check_settled(feed: FeedSpec, store: Store, layout: Layout) -> None:
    """Raise `SchemaRefused` if a run would, because of columns that are there. Writes nothing."""
    known = newest(stored_schemas(store, layout.schemas)) | newest(
        stored_schemas(store, layout.reading)
    )
    declared = {encode_component(each.route) for each in feed.datasets if each.schema_kind}
    types = feed_types(feed)
    for dataset, schema in sorted(known.items()):
        if dataset not in declared:
            settled_fields(feed.name, schema, types)


def settled_fields(feed: str, known: DatasetSchema, types: FeedTypes) -> Fields:
    """The fields of a learned schema, as the types have them; raises `SchemaRefused`."""
    if known.declared:
        return known.fields
    try:
        return settled(known.fields, types.of(known.dataset))
    except Incompatible as error:
        why = (
            f"{error}, by `types`, while the dataset has files with a column of the type before, "
            "and columns keep theirs for ever. Take the path out of `types`, or read the topics "
            "with a feed of another name, which begins with this type"
        )
        raise SchemaRefused(feed, f"dataset {known.dataset!r}", why) from error


def settled(known: Fields, types: TypeTree, path: str = "") -> Fields:
    """The known fields, as the types have them; raises `Incompatible`."""
    return tuple(
        msgspec.structs.replace(
            each, type=_type(each.type, types.fields[each.name], _below(path, each.name))
        )
        if each.name in types.fields
        else each
        for each in known
    )


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _type(known: FieldType, types: TypeTree, path: str) -> FieldType:
    if types.type is not None:
        if known == STRING and types.type == TEXT_OF_SCALARS:
            return types.type
        if known != types.type:
            raise Incompatible(path, f"it was {_words(known)} and is now {_words(types.type)}")
        return known
    if types.container and known.kind != types.container:
        raise Incompatible(path, f"it was {_words(known)} and is now a {types.container}")
    if types.item is not None and known.item is not None:
        return msgspec.structs.replace(known, item=_type(known.item, types.item, f"{path}[]"))
    return msgspec.structs.replace(known, fields=settled(known.fields, types, path))


def _words(kind: FieldType) -> str:
    """A type as the configuration calls it."""
    if kind.accepts == "json":
        return "json"
    return "timestamp" if kind.kind == "timestamp_us" else kind.kind
