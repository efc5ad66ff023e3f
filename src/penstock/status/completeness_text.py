"""How far the days of a feed are complete, and what came late: as sentences."""

from collections.abc import Iterator, Mapping

from penstock.model.final_days import Frontier, Level
from penstock.model.plural import number_of
from penstock.protocol.feed_book.state import FeedState, LateRows, datasets_with_days

FEW = 5  # datasets that are named


def complete_lines(final: Mapping[str, Frontier], late: Mapping[str, LateRows]) -> Iterator[str]:
    """What is complete, which datasets are behind, and which rows came after that."""
    if final:
        furthest = Frontier()
        for each in final.values():
            furthest = furthest.furthest(each)
        behind = {name: each for name, each in sorted(final.items()) if each != furthest}
        yield f"complete: {before(furthest)}{_behind(behind)}"
    for name, rows in sorted(late.items(), key=lambda each: -each[1].number)[:FEW]:
        yield (
            f"{number_of(rows.rows, 'row')} of {name} came after their day or hour was complete, "
            f"the last with window {rows.window} at {rows.at[:19]}"
        )
    if len(late) > FEW:
        yield f"late rows of {number_of(len(late) - FEW, 'more dataset')}: --output json has all"


def before(frontier: Frontier) -> str:
    """How far, in words."""
    named = (("days", frontier.days_before), ("hours", frontier.hours_before))
    return " and ".join(f"{name} before {label}" for name, label in named if label)


def _behind(behind: Mapping[str, Frontier]) -> str:
    if not behind:
        return ""
    named = [f"{name} only {before(each)}" for name, each in list(behind.items())[:FEW]]
    more = len(behind) - len(named)
    return f", but {', '.join(named)}" + (f" and {more} more" if more else "")


def incomplete(state: FeedState, label: str, dataset: str = "") -> list[str]:
    """The datasets, or this one, of which a day or an hour is not complete."""
    day, _, hour = label.partition("T")
    level = Level(label, "", is_hour=bool(hour))
    named = [dataset] if dataset else datasets_with_days(state)
    known = {name: state.final.get(name, Frontier()) for name in named}
    return [
        name for name, each in known.items() if not each.holds(level) and day >= each.days_before
    ]
