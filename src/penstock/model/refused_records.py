"""How many records went to the quarantine, by the dataset they were meant for, and by reason.

Reasons of a plug-in may be any number of texts. So each dataset has a bounded number of them, the
first that came; records with others are counted together.
"""

from collections.abc import Iterable, Mapping

Refused = dict[str, dict[str, int]]  # dataset, reason; "" for records that were meant for none

MOST_REASONS = 100  # of one dataset
OTHER_REASONS = "_other"


def add_refused(sums: Refused, more: Mapping[str, Mapping[str, int]]) -> None:
    """Add to the sums."""
    for dataset, reasons in more.items():
        known = sums.setdefault(dataset, {})
        for reason, count in reasons.items():
            is_new = reason not in known
            word = OTHER_REASONS if is_new and len(known) >= MOST_REASONS else reason
            known[word] = known.get(word, 0) + count


def all_refused(parts: Iterable[Mapping[str, Mapping[str, int]]]) -> Refused:
    """The sums of several parts, in the order of names."""
    sums: Refused = {}
    for part in parts:
        add_refused(sums, part)
    return {name: dict(sorted(sums[name].items())) for name in sorted(sums)}
