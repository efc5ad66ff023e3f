"""`compact:` of a feed: when small files become large ones in a run, and what that asks for."""

from typing import Any, assert_never

from penstock.api.doors import FORMATS
from penstock.api.errors import PluginError
from penstock.api.find import find
from penstock.config import units
from penstock.config.section_grammar import Key, Reading, Section, parsed
from penstock.config.tree import Table
from penstock.model.spec import CompactSpec, FeedSpec


def _when(word: str) -> str | float | None:
    """One of the words, or an interval."""
    if word in {"off", "hour_closed", "day_closed"}:
        return word
    return units.longer_than_nothing_s(word)


def _make_compact(when: str | float = "off", **values: Any) -> CompactSpec:
    if isinstance(when, float):
        return CompactSpec("every", every_s=when, **values)
    return CompactSpec(when, **values)  # type: ignore[arg-type]


COMPACT = Section(
    _make_compact,
    {
        "when": Key(parsed(_when, f"off | hour_closed | day_closed | {units.DURATION}")),
        "target": Key(parsed(units.size_bytes, units.SIZE), "target_bytes"),
        "min_files": Key(parsed(units.whole(2), "a whole number, 2 or more")),
        "keep": Key(parsed(units.duration_s, units.DURATION), "keep_s"),
    },
)


def compacts_its_files(spec: FeedSpec, table: Table, reading: Reading) -> None:
    """What is compacted says where rows come from, and what waits for a day has one."""
    match spec.compact.when:
        case "off":
            return
        case "every":
            pass
        case "hour_closed" | "day_closed":
            _has_days(spec, table, reading)
        case _ as never:
            assert_never(never)
    if not _has_positions(spec.format):
        found = f"`compact` of {spec.format} files, which do not say where their rows come from"
        allowed = "a format with position columns, or `when: off`"
        reading.mistakes.add(table.entries["compact"].place, found, allowed)


def _has_days(spec: FeedSpec, table: Table, reading: Reading) -> None:
    partitions = {"the feed": spec.partition}
    partitions |= {
        f"dataset {d.route!r}": d.partition for d in spec.datasets if d.partition is not None
    }
    for whose, keys in partitions.items():
        if not any(key.kind == "day" for key in keys):
            found = f"`{spec.compact.when}` where the `partition` of {whose} has no `day`"
            allowed = "a duration, or `day` in each `partition`"
            reading.mistakes.add(table.entries["compact"].place, found, allowed)


def _has_positions(name: str) -> bool:
    """True also of a format that cannot be used: that is a mistake of its own."""
    try:
        return find(FORMATS, name).traits.has_positions
    except PluginError:
        return True
