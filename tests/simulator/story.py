"""What a journal says, read by an independent reader: plain JSON, none of the protocol's code.

A story is the meaning of a journal up to one entry. It checks the invariants that a journal must
keep by itself: I1 numbers and chain, I2 epochs, I3 contiguous ranges, I4 no overlap, I5 balance,
and that no owner lets a stopped dataset go on (I15).
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from tests.simulator.kafka import BROKEN, FILTERED, MISFIT, STOPPING, SimKafka

Row = tuple[int, int]
PERSON = "simulator"  # who may let a stopped dataset go on
_QUARANTINE = "_quarantine"


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
    groups: dict[int, tuple[str, ...]] = field(default_factory=dict)
    hashes: dict[int, str] = field(default_factory=dict)
    outputs: dict[int, tuple[str, ...]] = field(default_factory=dict)
    live_rows: frozenset[Row] = frozenset()
    quarantined: frozenset[Row] = frozenset()
    skipped: frozenset[Row] = frozenset()
    retired: frozenset[Row] = frozenset()
    corrected: dict[str, str] = field(default_factory=dict)  # hashes of corrected bytes, by key
    parked: frozenset[str] = frozenset()
    stopped_at: dict[str, int] = field(default_factory=dict)


def tell(story: Story, raw: bytes, kafka: SimKafka) -> Story:
    """The story after one more entry; raises `Violation`."""
    entry, digest = _unseal(story.number + 1, raw)
    if entry["number"] != story.number + 1 or entry["previous"] != story.sha256:
        raise Violation("I1", f"entry {story.number + 1} does not continue the journal")
    kind, body = entry["body"]["kind"], entry["body"]
    wanted = story.epoch + 1 if kind == "claim" else story.epoch
    if entry["epoch"] != wanted:
        raise Violation(
            "I2", f"entry {entry['number']} ({kind}) has epoch {entry['epoch']}, not {wanted}"
        )
    changes: dict[str, Any] = {"number": entry["number"], "sha256": digest, "epoch": entry["epoch"]}
    changes["hashes"] = {**story.hashes, entry["number"]: digest}
    changes |= _TELLERS[kind](story, entry["number"], body, kafka)
    return Story(
        **{**{name: getattr(story, name) for name in story.__dataclass_fields__}, **changes}
    )


def _unseal(number: int, raw: bytes) -> tuple[dict[str, Any], str]:
    try:
        entry = json.loads(raw)
        rest = raw[raw.index(b",") :]
    except ValueError as error:
        raise Violation("I1", f"entry {number} is not JSON: {error}") from error
    digest = hashlib.sha256(rest).hexdigest()
    if entry["hash"] != digest:
        raise Violation("I1", f"entry {number} has a wrong hash")
    return entry, digest


def _nothing(_story: Story, _number: int, _body: Any, _kafka: SimKafka) -> dict[str, Any]:
    return {}


def _start(story: Story, _number: int, body: Any, kafka: SimKafka) -> dict[str, Any]:
    marks = dict(story.watermarks)
    skipped = set(story.skipped)
    for start in body["partitions"]:
        if start["partition"] in marks:
            raise Violation("I3", f"partition {start['partition']} starts twice")
        marks[start["partition"]] = start["offset"]
        skipped |= {(start["partition"], o) for o in range(start["offset"])}
    return {"watermarks": marks, "skipped": frozenset(skipped)}


def _seek(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    partition, before, after = body["partition"], body["from_offset"], body["to_offset"]
    if story.watermarks.get(partition) != before:
        raise Violation("I3", f"entry {number} seeks from {before}, not from the watermark")
    forward = {(partition, o) for o in range(before, after)}
    back = {(partition, o) for o in range(after, before)}
    if back & story.live_rows or back & story.quarantined:
        raise Violation("I4", f"entry {number} seeks back over delivered offsets")
    marks = {**story.watermarks, partition: after}
    return {"watermarks": marks, "skipped": (story.skipped | forward) - back}


def _window(story: Story, number: int, body: Any, kafka: SimKafka) -> dict[str, Any]:
    marks = dict(story.watermarks)
    ranges: dict[int, tuple[int, int]] = {}
    for covered in body["ranges"]:
        if marks.get(covered["partition"]) != covered["start"]:
            raise Violation("I3", f"entry {number} starts {covered} and the watermark is {marks}")
        marks[covered["partition"]] = covered["end"]
        ranges[covered["partition"]] = (covered["start"], covered["end"])
    content = body["content"]
    files = {f["handle"]["final"]: _window_file(number, f, ranges, kafka) for f in content["files"]}
    fates = {(p, o): kafka.partitions[p][o] for p, (s, e) in ranges.items() for o in range(s, e)}
    bad = {row for row, fate in fates.items() if fate in BROKEN}
    named = {
        (records["partition"], offset)
        for records in content.get("quarantined", ())
        for start, end in records["offsets"]["runs"]
        for offset in range(start, end)
    }
    if bad != named:
        raise Violation("I5", f"entry {number} names {named} as quarantined, not {bad}")
    _check_balance(number, ranges, files, kafka)
    changes = {"watermarks": marks, "quarantined": story.quarantined | bad}
    if MISFIT in fates.values():
        changes["parked"] = story.parked | {STOPPING}
        changes["stopped_at"] = {STOPPING: number} | story.stopped_at
    return _deliver(story, number, body, files) | changes


def _window_file(
    number: int, file: Any, ranges: dict[int, tuple[int, int]], kafka: SimKafka
) -> FileFact:
    covered = file["ranges"][0]
    partition = covered["partition"]
    wanted = BROKEN if file["dataset"] == _QUARANTINE else {file["dataset"]}
    rows = {
        (partition, o)
        for o in range(covered["start"], covered["end"])
        if kafka.partitions[partition][o] in wanted
    }
    return _fact(number, file, frozenset(rows))


def _fact(number: int, file: Any, rows: frozenset[Row]) -> FileFact:
    handle = file["handle"]
    return FileFact(number, file["dataset"], (handle["staged"],), (handle["checksum"],), rows)


def _check_balance(
    number: int, ranges: dict[int, tuple[int, int]], files: dict[str, FileFact], kafka: SimKafka
) -> None:
    written = [row for fact in files.values() for row in fact.rows]
    there = {
        (p, o)
        for p, (start, end) in ranges.items()
        for o in range(start, end)
        if kafka.partitions[p][o] not in (FILTERED, "!marker")
    }
    if len(written) != len(set(written)) or set(written) != there:
        raise Violation("I5", f"entry {number} delivers {sorted(written)} of {sorted(there)}")


def _deliver(story: Story, number: int, body: Any, files: dict[str, FileFact]) -> dict[str, Any]:
    """Files come, inputs go; no row may be live twice."""
    content = body["content"]
    consumed = dict(story.consumed)
    live = set(story.live_rows)
    for final in _inputs(content):
        if final not in story.files or final in consumed:
            raise Violation("I4", f"entry {number} consumes {final}, which is not live")
        consumed[final] = number
        live -= story.files[final].rows
    for final, fact in files.items():
        if final in story.files:
            raise Violation("I4", f"entry {number} decides {final} again")
        if fact.dataset != _QUARANTINE:
            if live & fact.rows:
                raise Violation("I4", f"entry {number} delivers {sorted(live & fact.rows)} again")
            live |= fact.rows
    return {
        "files": {**story.files, **files},
        "consumed": consumed,
        "live_rows": frozenset(live),
        "groups": {**story.groups, number: tuple(g["dataset"] for g in body["groups"])},
        "outputs": {**story.outputs, number: tuple(files)},
    }


def _inputs(content: Any) -> list[str]:
    return [taken["final"] for taken in content.get("inputs", ())]


def _compact(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    rows = frozenset(
        row
        for final in _inputs(body["content"])
        if final in story.files
        for row in story.files[final].rows
    )
    files = {f["handle"]["final"]: _fact(number, f, rows) for f in body["content"]["files"]}
    return _deliver(story, number, body, files)


def _retire(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    changes = _deliver(story, number, body, {})
    return changes | {"retired": story.retired | (story.live_rows - changes["live_rows"])}


def _replay(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    taken: set[Row] = set()
    files = {}
    for records, file in zip(body["content"]["records"], body["content"]["files"], strict=True):
        rows = {
            (records["partition"], offset)
            for start, end in records["offsets"]["runs"]
            for offset in range(start, end)
        }
        files[file["handle"]["final"]] = _fact(number, file, frozenset(rows))
        taken |= rows
    if not taken <= story.quarantined:
        raise Violation(
            "I4", f"entry {number} replays {taken - story.quarantined}, not in quarantine"
        )
    corrected = (body.get("corrections") or {"files": ()})["files"]
    named = {file["key"]: file["sha256"] for file in corrected}
    changes = {"quarantined": story.quarantined - taken, "corrected": story.corrected | named}
    return _deliver(story, number, body, files) | changes


def _replace(story: Story, _number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    files = dict(story.files)
    for file in body["content"]["files"]:
        old = files[file["handle"]["final"]]
        files[file["handle"]["final"]] = FileFact(
            old.number,
            old.dataset,
            (*old.staged, file["handle"]["staged"]),
            (*old.checksums, file["handle"]["checksum"]),
            old.rows,
        )
    return {"files": files}


def _park(story: Story, _number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    return {"parked": story.parked | {body["dataset"]}}


def _unpark(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    dataset = body["dataset"]
    if dataset in story.stopped_at and body["author"] != PERSON:
        raise Violation("I15", f"entry {number} lets {dataset} go on without a person's word")
    stopped_at = {name: at for name, at in story.stopped_at.items() if name != dataset}
    return {"parked": story.parked - {dataset}, "stopped_at": stopped_at}


# Every kind that a world may decide; another one is a KeyError, so nothing passes unjudged.
_TELLERS = {
    "bind": _nothing,
    "claim": _nothing,
    "start": _start,
    "seek": _seek,
    "window": _window,
    "compact": _compact,
    "retire": _retire,
    "replay": _replay,
    "replace": _replace,
    "park": _park,
    "unpark": _unpark,
}
