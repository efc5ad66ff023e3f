"""What a journal says, read by an independent reader: plain JSON, none of the protocol's code.

A story is the meaning of a journal up to one entry. It checks the invariants that a journal must
keep by itself: I1 numbers and chain, I2 epochs, I3 contiguous ranges, I4 no overlap, I5 balance,
and that no owner lets a stopped dataset go on (I15).
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

from tests.simulator.facts import (
    PERSON,
    QUARANTINE_GROUP,
    FileFact,
    Row,
    Story,
    Violation,
    deliver,
    fact_of,
    inputs_of,
    rows_of_records,
    values_of,
)
from tests.simulator.final_facts import finalize, late_rows
from tests.simulator.kafka import BROKEN, FILTERED, MISFIT, STOPPING, SimKafka, known_as
from tests.simulator.rare_kinds import RARE_KINDS

__all__ = ["PERSON", "Row", "Story", "Violation", "tell"]


def tell(story: Story, raw: bytes, kafka: SimKafka, objects: Mapping[str, bytes]) -> Story:
    """The story after one more entry; raises `Violation`. `objects` hold contents outside."""
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
    changes |= _take_content(story, entry["number"], body, objects)
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


def _take_content(
    story: Story, number: int, body: Any, objects: Mapping[str, bytes]
) -> dict[str, Any]:
    """Put the content into the body, from wherever it lies."""
    if body.get("packed"):
        body["content"] = json.loads(zlib.decompress(base64.b64decode(body["packed"])))
    ref = body.get("manifest")
    if not ref:
        return {}
    raw = objects.get(ref["key"], b"")
    if hashlib.sha256(raw).hexdigest() != ref["sha256"]:
        raise Violation("I12", f"the content of entry {number} is not at {ref['key']}")
    body["content"] = json.loads(zlib.decompress(raw) if ref.get("packed") else raw)
    return {"manifests": {**story.manifests, ref["key"]: ref["sha256"]}}


def _nothing(_story: Story, _number: int, _body: Any, _kafka: SimKafka) -> dict[str, Any]:
    return {}


def _start(story: Story, _number: int, body: Any, kafka: SimKafka) -> dict[str, Any]:
    marks = dict(story.watermarks)
    skipped = set(story.skipped)
    for start in body["partitions"]:
        partition = known_as(start["topic_id"], start["partition"])
        if partition in marks:
            raise Violation("I3", f"partition {partition} starts twice")
        marks[partition] = start["offset"]
        skipped |= {(partition, o) for o in range(start["offset"])}
    topic_id = body["partitions"][0]["topic_id"]
    return {"watermarks": marks, "skipped": frozenset(skipped), "topic_id": topic_id}


def _seek(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    partition = known_as(body["topic_id"], body["partition"])
    before, after = body["from_offset"], body["to_offset"]
    if story.watermarks.get(partition) != before:
        raise Violation("I3", f"entry {number} seeks from {before}, not from the watermark")
    forward = {(partition, o) for o in range(before, after)}
    back = {(partition, o) for o in range(after, before)}
    if back & story.live_rows or back & story.quarantined:
        raise Violation("I4", f"entry {number} seeks back over delivered offsets")
    marks = {**story.watermarks, partition: after}
    if body["topic_id"] != story.topic_id:
        return {"watermarks": marks}  # of a life that has ended: its unread records are given up
    return {"watermarks": marks, "skipped": (story.skipped | forward) - back}


def _window(story: Story, number: int, body: Any, kafka: SimKafka) -> dict[str, Any]:
    marks = dict(story.watermarks)
    ranges: dict[int, tuple[int, int]] = {}
    for covered in body["ranges"]:
        partition = known_as(covered["topic_id"], covered["partition"])
        if covered["topic_id"] != story.topic_id or marks.get(partition) != covered["start"]:
            raise Violation("I3", f"entry {number} starts {covered} and the watermark is {marks}")
        marks[partition] = covered["end"]
        ranges[partition] = (covered["start"], covered["end"])
    content = body["content"]
    files = {f["handle"]["final"]: _window_file(number, f, ranges, kafka) for f in content["files"]}
    fates = {(p, o): kafka.partitions[p][o] for p, (s, e) in ranges.items() for o in range(s, e)}
    bad = {row for row, fate in fates.items() if fate in BROKEN}
    named = rows_of_records(content, "quarantined")
    if bad != named:
        raise Violation("I5", f"entry {number} names {named} as quarantined, not {bad}")
    _check_balance(number, ranges, files, kafka)
    changes = {"watermarks": marks, "quarantined": story.quarantined | bad}
    if MISFIT in fates.values():
        changes["parked"] = story.parked | {f"{STOPPING}@files"}
        changes["stopped_at"] = {STOPPING: number} | story.stopped_at
    late = late_rows(story, number, body, files)
    return deliver(story, number, body, files) | changes | late


def _window_file(
    number: int, file: Any, ranges: dict[int, tuple[int, int]], kafka: SimKafka
) -> FileFact:
    wanted = BROKEN if file["dataset"] == QUARANTINE_GROUP else {file["dataset"]}
    rows = set()
    for covered in file["ranges"]:
        partition = known_as(covered["topic_id"], covered["partition"])
        if not ranges[partition][0] <= covered["start"] <= covered["end"] <= ranges[partition][1]:
            raise Violation("I5", f"entry {number} has a file that covers {covered} of {ranges}")
        for offset in range(covered["start"], covered["end"]):
            if kafka.partitions[partition][offset] in wanted:
                rows.add((partition, offset))
    return fact_of(number, file, frozenset(rows))


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


def _compact(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    rows = frozenset(
        row
        for final in inputs_of(body["content"])
        if final in story.files
        for row in story.files[final].rows
    )
    files = {f["handle"]["final"]: fact_of(number, f, rows) for f in body["content"]["files"]}
    if body.get("value_sum") not in (None, values_of(rows)):
        raise Violation("I20", f"the files of entry {number} have other values than their inputs")
    return deliver(story, number, body, files)


def _retire(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    changes = deliver(story, number, body, {})
    return changes | {"retired": story.retired | (story.live_rows - changes["live_rows"])}


def _replay(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    content = body["content"]
    taken = rows_of_records(content, "records")
    files = {}
    for records, file in zip(content["records"], content["files"], strict=True):
        rows = rows_of_records({"records": [records]}, "records")
        files[file["handle"]["final"]] = fact_of(number, file, frozenset(rows))
    if not taken <= story.quarantined:
        raise Violation(
            "I4", f"entry {number} replays {taken - story.quarantined}, not in quarantine"
        )
    corrected = (body.get("corrections") or {"files": ()})["files"]
    named = {file["key"]: file["sha256"] for file in corrected}
    changes = {"quarantined": story.quarantined - taken, "corrected": story.corrected | named}
    late = late_rows(story, number, body, files)
    return deliver(story, number, body, files) | changes | late


def _replace(story: Story, _number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    files = dict(story.files)
    for file in body["content"]["files"]:
        final = file["handle"]["final"]
        old = files[final]
        if final in story.consumed:
            raise Violation("I4", f"{final} was consumed, and is derived again")
        staged = (*old.staged, file["handle"]["staged"])
        checksums = (*old.checksums, file["handle"]["checksum"])
        files[final] = FileFact(old.number, old.dataset, staged, checksums, old.rows)
    finals = {file["handle"]["final"] for file in body["content"]["files"]}
    return {"files": files, "replaced": story.replaced | finals}


def _park(story: Story, _number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    part = f"{body['dataset']}@{body.get('lane', 'files')}"
    return {"parked": story.parked | {part}}


def _unpark(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    dataset, lane = body["dataset"], body.get("lane", "")
    if dataset in story.stopped_at and body["author"] != PERSON:
        raise Violation("I15", f"entry {number} lets {dataset} go on without a person's word")
    stopped_at = {name: at for name, at in story.stopped_at.items() if name != dataset}
    free = {f"{dataset}@{each}" for each in ((lane,) if lane else ("files", "delete"))}
    if not free & story.parked:
        raise Violation("I2", f"entry {number} lets {dataset} go on, which is not parked")
    return {"parked": story.parked - free, "stopped_at": stopped_at}


# Every kind that a world may decide; another one is a KeyError, so nothing passes unjudged.
_TELLERS = {
    "bind": _nothing,
    "claim": _nothing,
    "start": _start,
    "seek": _seek,
    "window": _window,
    "compact": _compact,
    "retire": _retire,
    "finalize": finalize,
    "replay": _replay,
    "replace": _replace,
    "park": _park,
    "unpark": _unpark,
    **RARE_KINDS,
}
