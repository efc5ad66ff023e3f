"""How many records went to the quarantine, by the dataset they were meant for, and by reason."""

from collections.abc import Iterable, Mapping

Refused = dict[str, dict[str, int]]  # dataset, reason; "" for records that were meant for none


def add_refused(sums: Refused, more: Mapping[str, Mapping[str, int]]) -> None:
    """Add to the sums."""
    for dataset, reasons in more.items():
        known = sums.setdefault(dataset, {})
        for reason, count in reasons.items():
            known[reason] = known.get(reason, 0) + count


def all_refused(parts: Iterable[Mapping[str, Mapping[str, int]]]) -> Refused:
    """The sums of several parts, in the order of names."""
    sums: Refused = {}
    for part in parts:
        add_refused(sums, part)
    return {name: dict(sorted(sums[name].items())) for name in sorted(sums)}
