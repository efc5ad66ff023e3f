"""Completeness as the independent reader of journals sees it: F1 to F4, on plain JSON.

F1 what is declared complete names every directory that becomes so, as of the entry right before it.
F2 then everything that was decided of the dataset is proven to be visible.
F3 a row of a day that is final is visible only where a mark of its entry lies already.
F4 a mark is decided before it is there; at the end all of them are there.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.simulator.facts import FileFact, Story, Violation, deliver
from tests.simulator.kafka import SimKafka

COMPLETE, LATE = "_SUCCESS", "_LATE"


def directory_of(key: str) -> str:
    """The directory of a file or a mark; the worlds have days, and no hours."""
    return key.rpartition("/")[0]


def day_of(directory: str) -> str:
    """The day of a directory."""
    return directory.rpartition("day=")[2]


def is_mark(key: str) -> bool:
    """True for `_SUCCESS`, `_LATE` and `_LATE-<window>`."""
    return key.rpartition("/")[2].partition("-")[0] in (COMPLETE, LATE)


def finalize(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    """Days of datasets become final (F1)."""
    if body["as_of"] != story.number:
        raise Violation("F1", f"entry {number} is as of {body['as_of']}, not of the one before")
    before = body["frontier"]["days_before"]
    final = dict(story.final)
    expected: set[str] = set()
    for dataset in body["datasets"]:
        begin, final[dataset] = final.get(dataset, ""), max(before, final.get(dataset, ""))
        expected |= {
            directory_of(key)
            for key, fact in story.files.items()
            if fact.dataset == dataset and key not in story.consumed
            if begin <= day_of(directory_of(key)) < final[dataset]
        }
    named = body["content"].get("complete", [])
    if {*named} != expected or len(named) != len(expected):
        raise Violation("F1", f"entry {number} marks {named}, not {sorted(expected)}")
    complete = {**story.complete, **dict.fromkeys(named, number)}
    changes = {"final": final, "finalized_at": number, "complete": complete}
    return deliver(story, number, body, {}) | changes


def late_rows(
    story: Story, number: int, body: Any, files: Mapping[str, FileFact]
) -> dict[str, Any]:
    """What an entry delivers of days that are final, which it has to know (F3)."""
    if body.get("finalized_at", -1) != story.finalized_at:
        raise Violation("F3", f"entry {number} does not know entry {story.finalized_at}")
    late: dict[str, Counter[str]] = {}
    for key, fact in files.items():
        directory = directory_of(key)
        if day_of(directory) < story.final.get(fact.dataset, ""):
            late.setdefault(fact.dataset, Counter())[directory] += len(fact.rows)
    if body.get("late", {}) != {dataset: each.total() for dataset, each in late.items()}:
        raise Violation("F3", f"entry {number} counts {body.get('late')}, not {late}")
    rows = {where: count for each in late.values() for where, count in each.items()}
    return {"late": {**story.late, number: rows}} if rows else {}


def check_mark(story: Story, key: str, raw: bytes) -> None:
    """F4: what a mark says was decided."""
    found, directory = json.loads(raw), directory_of(key)
    if found["hash"] != story.hashes.get(found["entry"]):
        raise Violation("F4", f"{key} names an entry that is not in the journal")
    if key.endswith(f"/{COMPLETE}"):
        if story.complete.get(directory) != found["entry"]:
            raise Violation("F4", f"{key} is there, and entry {found['entry']} did not decide it")
    elif story.late.get(found["entry"], {}).get(directory) != found["rows"]:
        raise Violation("F4", f"{key} has {found['rows']} rows that did not come late")


def check_file(story: Story, objects: Mapping[str, bytes], key: str, fact: FileFact) -> None:
    """F3: a file with late rows lies beside a mark of its entry."""
    directory = directory_of(key)
    if directory in story.late.get(fact.number, {}):
        _require_late_mark(objects, directory, fact.number)


def check_all_marked(story: Story, objects: Mapping[str, bytes]) -> None:
    """F4: at the end every mark is there."""
    for directory in story.complete:
        if f"{directory}/{COMPLETE}" not in objects:
            raise Violation("F4", f"{directory} is complete, and has no mark")
    for number, directories in story.late.items():
        for directory in directories:
            _require_late_mark(objects, directory, number)


def _require_late_mark(objects: Mapping[str, bytes], directory: str, number: int) -> None:
    marks = [raw for key, raw in objects.items() if key.startswith(f"{directory}/{LATE}")]
    if not any(json.loads(raw)["entry"] == number for raw in marks):
        raise Violation(
            "F3", f"rows of entry {number} came late, and {directory} has no mark of it"
        )


def check_visible(before: Story, after: Story, proven: set[tuple[int, str]]) -> None:
    """F2: whatever was decided of the datasets that an entry finalizes is proven visible."""
    moved = {name for name, day in after.final.items() if before.final.get(name) != day}
    for number, parts in before.parts.items():
        for part in parts:
            if part.partition("@")[0] in moved and (number, part) not in proven:
                raise Violation("F2", f"{part} of entry {number} is not done, and its day is final")
