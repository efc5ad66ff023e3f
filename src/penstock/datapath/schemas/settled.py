"""Types that the configuration settles, for a dataset that has columns already.

A column of texts may begin to accept numbers too, and a field without a column is free. All else
would be another type for a column that files have. Where records are converted, the columns of
files are those that the steps make, so a field may be read as any type that they can make them of.
"""

from collections.abc import Callable

import msgspec

from penstock.datapath.schemas.errors import SchemaRefused
from penstock.model.event_paths import path_below
from penstock.model.pinned_types import FeedTypes, TypeTree
from penstock.model.schema import STRING, TEXT_OF_SCALARS, DatasetSchema, Field, FieldType
from penstock.model.schema_merging import Incompatible

Fields = tuple[Field, ...]


def settled_fields(
    feed: str,
    known: DatasetSchema,
    types: FeedTypes,
    hold: Callable[[DatasetSchema], None] | None = None,
) -> Fields:
    """The fields of a learned schema, as the types have them; raises `SchemaRefused`.

    `hold` is for a dataset that is converted. It holds a schema that records would be read with
    against the columns of files, and raises `Incompatible`.
    """
    if known.declared:
        return known.fields
    try:
        fields = settled(known.fields, types.of(known.dataset), is_free=hold is not None)
        if hold is not None and fields != known.fields:
            hold(msgspec.structs.replace(known, fields=fields))
        return fields
    except Incompatible as error:
        why = (
            f"{error}, by `types`, while the dataset has files with a column of the type before, "
            "and columns keep theirs for ever. Take the path out of `types`, or read the topics "
            "with a feed of another name, which begins with this type"
        )
        raise SchemaRefused(feed, f"dataset {known.dataset!r}", why) from error


def settled(known: Fields, types: TypeTree, path: str = "", *, is_free: bool = False) -> Fields:
    """The known fields, as the types have them; raises `Incompatible`.

    If `is_free`, a single value may be of another type than it was.
    """
    return tuple(
        msgspec.structs.replace(
            each,
            type=_type(each.type, types.fields[each.name], path_below(path, each.name), is_free),
        )
        if each.name in types.fields
        else each
        for each in known
    )


def _type(known: FieldType, types: TypeTree, path: str, is_free: bool) -> FieldType:
    if types.type is not None:
        if is_free:
            return types.type
        if known == STRING and types.type == TEXT_OF_SCALARS:
            return types.type
        if known != types.type:
            raise Incompatible(path, f"it was {_words(known)} and is now {_words(types.type)}")
        return known
    if types.container and known.kind != types.container:
        raise Incompatible(path, f"it was {_words(known)} and is now a {types.container}")
    if types.item is not None and known.item is not None:
        item = _type(known.item, types.item, f"{path}[]", is_free)
        return msgspec.structs.replace(known, item=item)
    fields = settled(known.fields, types, path, is_free=is_free)
    return msgspec.structs.replace(known, fields=fields)


def _words(kind: FieldType) -> str:
    """A type as the configuration calls it."""
    if kind.accepts == "json":
        return "json"
    return "timestamp" if kind.kind == "timestamp_us" else kind.kind
