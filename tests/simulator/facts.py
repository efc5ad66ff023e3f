"""What the independent reader of journals knows: files, rows and parts, as plain values."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.simulator.kafka import known_as

Row = tuple[int, int]
PERSON = "simulator"  # who may let a stopped dataset go on
QUARANTINE_GROUP = "_quarantine"


class Violation(AssertionError):
    """An invariant does not hold; names it and says where."""

    def __init__(self, invariant: str, what: str) -> None:
        super().__init__(f"{invariant}: {what}")
        self.invariant = invariant
        self.what = what

    def __reduce__(self) -> tuple[type["Violation"], tuple[str, str]]:
        return Violation, (self.invariant, self.what)


@dataclass(frozen=True)
class FileFact:
    """A decided file: who decided it, where it is staged, what must be in it."""

    number: int
    dataset: str
    staged: tuple[str, ...]
    checksums: tuple[str, ...]
    rows: frozenset[Row]


@dataclass(frozen=True)
class Story:
    """Everything a journal has decided so far."""

    number: int = -1
    sha256: str = "0" * 64
    epoch: int = 0
    watermarks: dict[int, int] = field(default_factory=dict)
    files: dict[str, FileFact] = field(default_factory=dict)
    consumed: dict[str, int] = field(default_factory=dict)
    parts: dict[int, tuple[str, ...]] = field(default_factory=dict)
    hashes: dict[int, str] = field(default_factory=dict)
    outputs: dict[int, tuple[str, ...]] = field(default_factory=dict)
    live_rows: frozenset[Row] = frozenset()
    quarantined: frozenset[Row] = frozenset()
    skipped: frozenset[Row] = frozenset()
    retired: frozenset[Row] = frozenset()
    corrected: dict[str, str] = field(default_factory=dict)  # hashes of corrected bytes, by key
    manifests: dict[str, str] = field(default_factory=dict)  # hashes of contents outside, by key
    parked: frozenset[str] = frozenset()  # parts: a dataset and a lane
    stopped_at: dict[str, int] = field(default_factory=dict)
    replaced: frozenset[str] = frozenset()  # final names of files that were derived again
    topic_id: str = ""  # the life of the topic that is read now
    final: dict[str, str] = field(default_factory=dict)  # the first day that is not, by dataset
    finalized_at: int = -1
    complete: dict[str, int] = field(default_factory=dict)  # the entry that says so, by directory
    late: dict[int, dict[str, int]] = field(default_factory=dict)  # rows by entry and directory
    sealed_to: int = -1  # the last entry that a decided seal covers
    seals: dict[int, str] = field(default_factory=dict)  # hashes of segments, by first entry


def rows_of_records(content: Any, name: str) -> set[Row]:
    """The rows that a list of record sets names."""
    return {
        (known_as(records["topic_id"], records["partition"]), offset)
        for records in content.get(name, ())
        for offset in offsets_of(records["offsets"])
    }


def offsets_of(runs: Any) -> Iterator[int]:
    """The offsets of a set of runs."""
    for start, end in runs["runs"]:
        yield from range(start, end)


def fact_of(number: int, file: Any, rows: frozenset[Row]) -> FileFact:
    """A decided file with these rows."""
    handle = file["handle"]
    return FileFact(number, file["dataset"], (handle["staged"],), (handle["checksum"],), rows)


def deliver(story: Story, number: int, body: Any, files: dict[str, FileFact]) -> dict[str, Any]:
    """Files come, inputs go; no row may be live twice."""
    content = body["content"]
    consumed = dict(story.consumed)
    live = set(story.live_rows)
    for final in inputs_of(content):
        if final not in story.files or final in consumed:
            raise Violation("I4", f"entry {number} consumes {final}, which is not live")
        consumed[final] = number
        live -= story.files[final].rows
    _check_consumes(story, number, body)
    for final, fact in files.items():
        if final in story.files:
            raise Violation("I4", f"entry {number} decides {final} again")
        if fact.dataset != QUARANTINE_GROUP:
            if live & fact.rows:
                raise Violation("I4", f"entry {number} delivers {sorted(live & fact.rows)} again")
            live |= fact.rows
    return {
        "files": {**story.files, **files},
        "consumed": consumed,
        "live_rows": frozenset(live),
        "parts": {**story.parts, number: parts_of(body)},
        "outputs": {**story.outputs, number: tuple(files)},
    }


def _check_consumes(story: Story, number: int, body: Any) -> None:
    """What is taken as proven done by an entry is what its inputs belong to, and nothing else."""
    if body.get("consumes") is None:
        return
    named = {(e["dataset"], n) for e in body["consumes"] for n in offsets_of(e["entries"])}
    facts = [story.files[final] for final in inputs_of(body["content"])]
    if named != {(fact.dataset, fact.number) for fact in facts}:
        raise Violation("I4", f"entry {number} names {sorted(named)}, not where its inputs are of")


_LANES = {
    "publish_files": "files",
    "mark_complete": "files",
    "mark_late": "files",
    "delete_inputs": "delete",
}


def parts_of(body: Any) -> tuple[str, ...]:
    """What markers have to prove: each lane of each group."""
    parts = (
        f"{group['dataset']}@{_LANES[step['step']]}"
        for group in body["groups"]
        for step in group["steps"]
    )
    return tuple(dict.fromkeys(parts))


def inputs_of(content: Any) -> list[str]:
    """The final names that a content consumes."""
    return [taken["final"] for taken in content.get("inputs", ())]


def values_of(rows: Iterable[Row]) -> int:
    """The sum of all values of some rows, if each has one value, which its position tells."""
    return sum((partition + 1) * 1_000_003 + offset for partition, offset in rows)
