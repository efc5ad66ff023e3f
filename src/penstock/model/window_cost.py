"""What a window took: seconds of tasks, bytes, requests and files, by dataset and by topic.

A task measures `TaskSpent`; the entry of a window holds a `WindowCost`. Both are facts about how a
window was made. They decide nothing, and another try at the same window has others.
"""

from collections.abc import Iterable

import msgspec

from penstock.model.staged import StagedHandle
from penstock.model.value import Value

NO_DATASET = ""  # records without a dataset: filtered, broken before they were routed, tombstones
REQUESTS = "requests"  # in `proof` of a handle: how many its store needs to stage and publish it
REQUESTS_PER_FILE = 2  # one to stage it, one to publish it
REQUESTS_PER_WINDOW = 3  # its entry, the tail mark, the marker


class TaskSpent(Value, frozen=True):
    """What the records of one dataset took in one range of a task, or in several.

    A record whose array is spread counts where its first element goes, and bytes go with their
    elements; so `records` and `read_bytes` add up to what was read. `task_s` are seconds of tasks.
    """

    topic: str
    dataset: str
    records: int = 0
    read_bytes: int = 0
    task_s: float = 0.0


class Spent(Value, frozen=True, array_like=True):
    """What a dataset or a topic took of one window or of several, by its name.

    Written as an array, since a window may have hundreds. New fields come last.
    """

    name: str
    records: int = 0
    read_bytes: int = 0
    task_us: int = 0
    requests: int = 0
    files: int = 0
    written_bytes: int = 0
    rows: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        """The sum, under the name of the first."""
        return Spent(
            self.name,
            self.records + other.records,
            self.read_bytes + other.read_bytes,
            self.task_us + other.task_us,
            self.requests + other.requests,
            self.files + other.files,
            self.written_bytes + other.written_bytes,
            self.rows + other.rows,
        )


class WindowCost(Value, frozen=True):
    """The cost of a window, once by dataset and once by topic; both have the same sum.

    `elapsed_ms` is the time from its plan to its decision. Requests of the journal, and records
    without a dataset, are under the dataset `NO_DATASET`; in `topics`, the former are under "".
    """

    elapsed_ms: int = 0
    datasets: tuple[Spent, ...] = ()
    topics: tuple[Spent, ...] = ()


def add_spent(sums: dict[str, Spent], parts: Iterable[Spent]) -> None:
    """Add to the sums, which are by name."""
    for each in parts:
        sums[each.name] = sums[each.name] + each if each.name in sums else each


def added_spent(parts: Iterable[Spent]) -> tuple[Spent, ...]:
    """The sums of all names, in their order."""
    found: dict[str, Spent] = {}
    add_spent(found, parts)
    return tuple(found[name] for name in sorted(found))


def added_task_spent(parts: Iterable[TaskSpent]) -> tuple[TaskSpent, ...]:
    """The sums of all topics and datasets, in order."""
    found: dict[tuple[str, str], TaskSpent] = {}
    for each in parts:
        key = (each.topic, each.dataset)
        known = found.get(key, TaskSpent(*key))
        found[key] = TaskSpent(
            *key,
            known.records + each.records,
            known.read_bytes + each.read_bytes,
            known.task_s + each.task_s,
        )
    return tuple(found[key] for key in sorted(found))


def with_more_time(parts: tuple[TaskSpent, ...], more_s: float) -> tuple[TaskSpent, ...]:
    """The same with more seconds, shared by those that each has already."""
    whole_s = sum(each.task_s for each in parts)
    if not whole_s or not more_s:
        return parts
    return tuple(
        msgspec.structs.replace(each, task_s=each.task_s * (1 + more_s / whole_s)) for each in parts
    )


def requests_of(handle: StagedHandle) -> int:
    """How many requests a file needs until it is visible, if all goes well."""
    given = handle.proof.get(REQUESTS, "")
    return int(given) if given.isdecimal() else REQUESTS_PER_FILE
