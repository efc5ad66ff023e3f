"""The kinds that few worlds decide, as the independent reader judges them."""

from typing import Any

from tests.simulator.facts import Row, Story, Violation, deliver, fact_of, inputs_of
from tests.simulator.facts import rows_of_records as rows_of
from tests.simulator.kafka import LIFE, SimKafka, known_as


def _gap(story: Story, number: int, body: Any, kafka: SimKafka) -> dict[str, Any]:
    """Only what comes next is given up, and only what Kafka has not any more (I3)."""
    lost = body["range"]
    partition = known_as(lost["topic_id"], lost["partition"])
    if story.watermarks.get(partition) != lost["start"] or lost["end"] <= lost["start"]:
        raise Violation("I3", f"entry {number} gives up {lost}, not from the watermark on")
    if lost["end"] > kafka.earliest.get(partition, 0):
        raise Violation("I3", f"entry {number} gives up {lost}, and Kafka has some of it")
    rows = {(partition, offset) for offset in range(lost["start"], lost["end"])}
    marks = {**story.watermarks, partition: lost["end"]}
    return {"watermarks": marks, "skipped": story.skipped | rows}


def _rebind(story: Story, number: int, body: Any, kafka: SimKafka) -> dict[str, Any]:
    """One life ends, with all that was not read of it, and a new one begins (I3)."""
    if story.topic_id != body["old_id"]:
        raise Violation("I3", f"entry {number} ends {body['old_id']}, not {story.topic_id}")
    marks = dict(story.watermarks)
    skipped: set[Row] = set(story.skipped)
    for partition, watermark in story.watermarks.items():
        if partition // LIFE == known_as(body["old_id"], 0) // LIFE:
            end = len(kafka.partitions[partition])
            skipped |= {(partition, offset) for offset in range(watermark, end)}
    for start in body["partitions"]:
        partition = known_as(start["topic_id"], start["partition"])
        if start["topic_id"] != body["new_id"] or partition in marks:
            raise Violation("I3", f"entry {number} starts {start} again")
        marks[partition] = start["offset"]
        skipped |= {(partition, offset) for offset in range(start["offset"])}
    return {"watermarks": marks, "skipped": frozenset(skipped), "topic_id": body["new_id"]}


def _drop(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    """Quarantined records are given up, each once (I4)."""
    taken = rows_of(body["content"], "records")
    if not taken <= story.quarantined:
        gone = sorted(taken - story.quarantined)
        raise Violation("I4", f"entry {number} drops {gone}, not in quarantine")
    return {"quarantined": story.quarantined - taken, "retired": story.retired | taken}


def _generation(story: Story, number: int, body: Any, kafka: SimKafka) -> dict[str, Any]:
    """Rows are delivered again in place of the same rows, which go (I4, I5)."""
    content = body["content"]
    files = {}
    for file in content["files"]:
        covered = file["ranges"][0]
        partition = known_as(covered["topic_id"], covered["partition"])
        rows = {
            (partition, offset)
            for offset in range(covered["start"], covered["end"])
            if kafka.partitions[partition][offset] == file["dataset"]
        }
        files[file["handle"]["final"]] = fact_of(number, file, frozenset(rows))
    taken = {row for final in inputs_of(content) for row in story.files[final].rows}
    given = {row for fact in files.values() for row in fact.rows}
    if taken != given:
        raise Violation("I5", f"entry {number} takes {sorted(taken)} and gives {sorted(given)}")
    return deliver(story, number, body, files)


def _seal(story: Story, number: int, body: Any, _kafka: SimKafka) -> dict[str, Any]:
    """Seals follow each other without a hole, and lie before their own entry (S1)."""
    if body["first"] != story.sealed_to + 1 or not body["first"] <= body["last"] < number - 1:
        raise Violation("S1", f"entry {number} seals {body} after {story.sealed_to}")
    return {"sealed_to": body["last"], "seals": {**story.seals, body["first"]: body["sha256"]}}


RARE_KINDS = {
    "gap": _gap,
    "rebind": _rebind,
    "drop": _drop,
    "generation": _generation,
    "seal": _seal,
}
