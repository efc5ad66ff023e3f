"""The types that a configuration settles for fields of learned schemas, by path."""

from typing import get_args

from penstock.config.mistakes import Refused, closest, shown
from penstock.config.section_grammar import Reading, as_table, text
from penstock.config.tree import Node, Table
from penstock.model.event_paths import steps_of
from penstock.model.pinned_types import PinsDisagree, dataset_types, type_tree
from penstock.model.schema import PinnedType, PinnedTypes
from penstock.model.spec import DatasetSpec, FeedSpec

WORDS: tuple[PinnedType, ...] = get_args(PinnedType)
_PATH = r"a path such as user.id, items[].id, tags[] or http\.status"


def pinned_types(node: Node, reading: Reading) -> PinnedTypes:
    """A mapping of paths to types; all mistakes in it are recorded."""
    found: dict[str, PinnedType] = {}
    for path, child in as_table(node).entries.items():
        try:
            found[_path(path)] = _word(text(child))
        except Refused as refused:
            reading.mistakes.refuse(child.place, refused)
    try:
        type_tree(tuple(found.items()))
    except PinsDisagree as error:
        raise Refused(f"at {shown(error.path)}, {error.why}", "paths that agree") from error
    return tuple(found.items())


def _path(path: str) -> str:
    if not all(step is None or step.strip() for step in steps_of(path)):
        raise Refused(f"found {shown(path)}", _PATH)
    return path


def _word(word: str) -> PinnedType:
    found = next((each for each in WORDS if each == word), None)
    if found is None:
        raise Refused(f"found {shown(word)}", " | ".join(WORDS), closest(word, WORDS))
    return found


def types_are_learned(spec: FeedSpec, table: Table, reading: Reading) -> None:
    """Complain about types of a dataset that has a schema file, or that contradict the feed's."""
    datasets = table.entries.get("datasets")
    if not isinstance(datasets, Table):
        return
    for each in spec.datasets:
        section = datasets.entries.get(each.route)
        place = section.entries.get("types") if isinstance(section, Table) else None
        if place is None:
            continue
        found = _complaint(spec, each)
        if found:
            reading.mistakes.add(place.place, *found)


def _complaint(spec: FeedSpec, dataset: DatasetSpec) -> tuple[str, str] | None:
    if dataset.schema_kind is not None:
        return "`types` beside `schema`", "one of the two: a schema file has all types"
    try:
        type_tree(dataset_types(spec.decode.types, dataset.types))
    except PinsDisagree as error:
        why = f"at {shown(error.path)}, together with `decode.types` of the feed: {error.why}"
        return why, "paths that agree"
    return None
