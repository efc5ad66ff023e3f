"""A feed with broken records, and its quarantine as the commands list it."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from penstock.care.replay import live_records
from penstock.cli.main import main
from penstock.model.entries import PartitionStart, Rebind
from penstock.model.spec import DatasetSpec, FeedSpec, RouteSpec, TimeSpec
from tests.helpers.journals import an_owner
from tests.helpers.lakes_on_disk import DiskLake, Payload, ShreddedSource
from tests.simulator.kafka import TOPIC, TOPIC_ID
from tests.simulator.programs import FEED, Room

SPEC = FeedSpec(
    name=FEED,
    topics=(TOPIC,),
    route=RouteSpec("field", "type"),
    time=TimeSpec(field="at", unit="s"),
    datasets=(DatasetSpec("click", team="web"),),
)
GOOD = b'{"type": "click", "at": 1799990000}'
UNTIMED = b'{"type": "click", "n": 1}'
UNTIMED_TOO = b'{"type": "click", "n": 2}'


def listed(lake: DiskLake, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(lake.words("errors", "list", FEED, "--output", "json")) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def shown(lake: DiskLake, capsys: pytest.CaptureFixture[str], word: str) -> list[dict[str, Any]]:
    assert main(lake.words("errors", "show", FEED, word, "--output", "json")) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


class Dated(ShreddedSource):
    """A source whose producer has a clock of its own."""

    kafka_ms = 0

    def batch(self, start: int, end: int) -> pa.RecordBatch:
        """The records with that time."""
        found = super().batch(start, end)
        times = pa.array([self.kafka_ms] * (end - start), pa.int64())
        return found.set_column(found.schema.get_field_index("timestamp"), "timestamp", times)


LATER_ID = "topic-id-2"
Live = list[tuple[str, tuple[tuple[int, int], ...]]]


def delivered(lake: DiskLake, payloads: Sequence[Payload]) -> Room:
    """One window of a topic."""
    room = lake.room([])
    assert an_owner(room, ShreddedSource(lake.store, SPEC, payloads), max_records=50).run_window()
    return room


def lived_twice(lake: DiskLake, first: Sequence[Payload], second: Sequence[Payload]) -> Room:
    """A window of a topic; then it is deleted and made again, and a window of its second life."""
    room = delivered(lake, first)
    journal = room.journal()
    fold = journal.open()
    starts = (PartitionStart(TOPIC, LATER_ID, 0, 0),)
    body = Rebind(TOPIC, TOPIC_ID, LATER_ID, starts, "ann", "made again")
    journal.append(fold, body, fold.state.epoch)
    anew = ShreddedSource(lake.store, SPEC, second, LATER_ID)
    assert an_owner(room, anew, max_records=50).run_window()
    return room


def left(room: Room) -> Live:
    """What is still in the quarantine, by the id of its topic."""
    found = live_records(room.journal().open(deep=True))
    return [(each.topic_id, each.offsets.runs) for each in found]
