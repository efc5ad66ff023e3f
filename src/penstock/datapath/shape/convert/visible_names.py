"""What the names of directories show although steps hide it in rows.

Where a record goes is decided by its fields as they came, before any step.
"""

from collections.abc import Iterator, Sequence

from penstock.api.doors import PARTITIONS, ROUTES
from penstock.datapath.shape.convert.field_paths import NOT_SHOWN, names_of
from penstock.datapath.shape.convert.rest_column import hidden_paths
from penstock.datapath.shape.plugins.made import asked_fields
from penstock.model.convert_spec import ConvertSpec, steps_for
from penstock.model.names import encode_component
from penstock.model.spec import FeedSpec, PartitionKey


def shown_by_names(feed: FeedSpec) -> list[str]:
    """A sentence for each field that names datasets or directories, and that a step hides."""
    return list(dict.fromkeys(_sentences(feed)))


def _sentences(feed: FeedSpec) -> Iterator[str]:
    for path in asked_fields(ROUTES, feed.route.call):
        by = f"field:{path}" if feed.route.kind == "field" else f"plugin:{feed.route.name}"
        yield from _about(f"route by {by}", "datasets", path, feed.convert)
    apart = {encode_component(each.route) for each in feed.datasets if each.partition is not None}
    others = [
        spec
        for spec in feed.convert
        if not spec.datasets or set(map(encode_component, spec.datasets)) - apart
    ]
    yield from _about_keys(feed.partition, others)
    for each in feed.datasets:
        mine = steps_for(feed.convert, encode_component(each.route))
        yield from _about_keys(each.partition or (), mine)


def _about_keys(keys: Sequence[PartitionKey], steps: Sequence[ConvertSpec]) -> Iterator[str]:
    for key in keys:
        for path in asked_fields(PARTITIONS, key.call):
            by = f"field:{path}" if key.kind == "field" else f"plugin:{key.plugin}"
            yield from _about(f"partition by {by}", "directories", path, steps)


def _about(by: str, named: str, path: str, steps: Sequence[ConvertSpec]) -> Iterator[str]:
    here = names_of(path)
    for number, spec in enumerate(steps, start=1):
        before = [each for each in steps[: number - 1] if each.verb not in NOT_SHOWN]
        hidden = hidden_paths([*before, spec], NOT_SHOWN)
        if any(here[: len(names)] == names for names in hidden):
            yield (
                f"{by}: the names of {named} show {_what(by, path)} in the clear, as they came; "
                f"`{spec.verb}` hides them in rows only."
            )


def _what(by: str, path: str) -> str:
    """The values that names are made of. What a plug-in makes of them is its own business."""
    return "its values" if by.endswith(f"field:{path}") else f"what it makes of values of {path}"
