"""How records were read, and what did not fit, as lines and rows of `penstock status`."""

from collections.abc import Iterable, Iterator

from penstock.model.field_conflicts import field_conflicts
from penstock.model.read_ways import MOST_CONFLICTS, ReadWays

FEW_FIELDS = 5


def rest_lines(ways: Iterable[ReadWays]) -> Iterator[str]:
    """A line per dataset that has rows with a `_rest`, with the fields that are in conflict."""
    for each in ways:
        fields = [conflict.path for conflict in field_conflicts(each) if not conflict.is_new]
        if not each.rest or not fields:
            continue
        # Beyond so many, conflicts are not recorded one by one.
        least = "at least " if len(each.conflicts) >= MOST_CONFLICTS else ""
        more = f" and {least}{len(fields) - FEW_FIELDS} more" if len(fields) > FEW_FIELDS else ""
        shown = ", ".join(fields[:FEW_FIELDS])
        yield f"rows with `_rest`: {each.rest:,} of {each.rows:,} in {each.dataset}: {shown}{more}"


def ways_rows(feed: str, ways: Iterable[ReadWays]) -> Iterator[dict[str, object]]:
    """A row per dataset: how many records were read each way, and why not the fast one."""
    for each in ways:
        records = each.fast + each.reference
        share = f"{100 * each.fast / records:.1f} %" if records else None
        main = each.reasons[0] if each.reasons else None
        yield {
            "feed": feed,
            "dataset": each.dataset,
            "fast": f"{each.fast:,}",
            "reference": f"{each.reference:,}",
            "share": share,
            "main reason": None if main is None else f"{main.reason} {main.records:,}",
            "field": (main.path or None) if main is not None else None,
            "empty": f"{each.empty:,}",
            "_rest": f"{each.rest:,}",
        }
