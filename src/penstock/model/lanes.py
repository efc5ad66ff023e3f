"""Lanes: what is done, parked and consumed by itself within the group of a dataset.

A group has a lane of files, later one for each table, and one of deletions, in this order. A lane
never waits for one that comes after it. A lane of a group is a *part* of its entry; markers, parked
datasets and the list of what is undone name parts, as `orders@files`. No dataset has `@` in its
name. Older objects name the group alone, `orders`, which means all of its lanes.
"""

from collections.abc import Iterable
from typing import assert_never

from penstock.model.manifest import Group
from penstock.model.steps import DeleteInputs, MarkComplete, MarkLate, PublishFiles, Step, Steps

FILES = "files"
DELETE = "delete"
_BETWEEN = "@"


def lane_of(step: Step) -> str:
    """The lane that a step belongs to."""
    match step:
        case PublishFiles() | MarkComplete() | MarkLate():
            return FILES
        case DeleteInputs():
            return DELETE
        case _ as never:
            assert_never(never)


def lanes_of(steps: Steps) -> tuple[str, ...]:
    """The lanes of these steps, each once, in their order."""
    return tuple(dict.fromkeys(map(lane_of, steps)))


def steps_in(steps: Steps, lane: str) -> Steps:
    """The steps of one lane."""
    return tuple(step for step in steps if lane_of(step) == lane)


def parts_of(groups: Iterable[Group]) -> list[str]:
    """The names of all parts of these groups, in their order."""
    return [part_of(group.dataset, lane) for group in groups for lane in lanes_of(group.steps)]


def part_of(dataset: str, lane: str = FILES) -> str:
    """The name of a lane of a dataset's group."""
    return f"{dataset}{_BETWEEN}{lane}"


def dataset_of(part: str) -> str:
    """The dataset that a part belongs to."""
    return part.partition(_BETWEEN)[0]


def lane_in(part: str) -> str:
    """The lane in the name of a part."""
    return part.partition(_BETWEEN)[2]


def datasets_in(parts: Iterable[str]) -> list[str]:
    """The datasets of these parts, each once, by name."""
    return sorted(set(map(dataset_of, parts)))
