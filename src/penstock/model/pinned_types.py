"""Types that the configuration gives to fields of learned schemas, by path.

A path is written as error messages write it (`event_paths`): `items[].id` is a field of the objects
in a list, and `tags[]` are the items of a list. A field that is named gets its
type when it is first met with a value that says something, whatever that value is. The objects and
lists on the way to it are settled by the path as well.
"""

from dataclasses import dataclass, field

from penstock.model.event_paths import steps_of
from penstock.model.names import encode_component
from penstock.model.schema import (
    BOOLEAN,
    DOUBLE,
    INT64,
    TEXT_OF_JSON,
    TEXT_OF_SCALARS,
    TIME_OF_SCALARS,
    FieldType,
    PinnedType,
    PinnedTypes,
)
from penstock.model.spec import FeedSpec

COLUMN_TYPES: dict[PinnedType, FieldType] = {
    "string": TEXT_OF_SCALARS,
    "int64": INT64,
    "double": DOUBLE,
    "boolean": BOOLEAN,
    "timestamp": TIME_OF_SCALARS,
    "json": TEXT_OF_JSON,
}


class PinsDisagree(ValueError):
    """Two paths that cannot both be right: which, and why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


@dataclass(slots=True)
class TypeTree:
    """What is settled at one place: a type, or that it is an object or a list with more inside.

    `usual` is the kind of an object or a list that is settled although nothing inside of it is.
    """

    type: FieldType | None = None
    fields: dict[str, "TypeTree"] = field(default_factory=dict)
    item: "TypeTree | None" = None
    usual: str = ""

    @property
    def container(self) -> str:
        """The kind that the paths through this place ask for; empty if there are none."""
        return "struct" if self.fields else "list" if self.item is not None else self.usual

    def at(self, path: str) -> "TypeTree | None":
        """What is settled at a path, if anything is."""
        here: TypeTree | None = self
        for step in steps_of(path):
            if here is None:
                return None
            here = here.item if step is None else here.fields.get(step)
        return here


def type_tree(types: PinnedTypes) -> TypeTree:
    """All types as one tree; raises `PinsDisagree`."""
    root = TypeTree()
    for path, word in types:
        here = root
        for step in steps_of(path):
            here = _inside(here, step, path)
        if here.container:
            raise PinsDisagree(path, f"another path makes it a {here.container}")
        if word == "timestamp" and None in steps_of(path):
            raise PinsDisagree(path, "a time inside a list cannot be read; `string` keeps its text")
        here.type = COLUMN_TYPES[word]
    return root


def _inside(here: TypeTree, step: str | None, path: str) -> TypeTree:
    """The next place on a path, made if need be."""
    wanted = "list" if step is None else "struct"
    if here.type is not None:
        raise PinsDisagree(path, "another path gives a type to what it lies in")
    if here.container not in {"", wanted}:
        raise PinsDisagree(path, f"another path makes what it lies in a {here.container}")
    if step is None:
        here.item = here.item or TypeTree()
        return here.item
    return here.fields.setdefault(step, TypeTree())


@dataclass(frozen=True, slots=True)
class FeedTypes:
    """The types of a feed by dataset. Pickles, and is made again from the spec at little cost."""

    of_feed: TypeTree = field(default_factory=TypeTree)
    by_dataset: dict[str, TypeTree] = field(default_factory=dict)

    def of(self, dataset: str) -> TypeTree:
        """What is settled for a dataset, by the name of its directory."""
        return self.by_dataset.get(dataset, self.of_feed)


def feed_types(feed: FeedSpec) -> FeedTypes:
    """The types of a feed; those of a dataset go before those of the feed."""
    return FeedTypes(
        type_tree(feed.decode.types),
        {
            encode_component(each.route): type_tree(dataset_types(feed.decode.types, each.types))
            for each in feed.datasets
            if each.types
        },
    )


def dataset_types(of_feed: PinnedTypes, of_dataset: PinnedTypes) -> PinnedTypes:
    """The types of a dataset: its own, and those of the feed for all other paths."""
    return tuple((dict(of_feed) | dict(of_dataset)).items())
