"""A source of files to which lines of JSON are appended; tasks are those of Spark.

DIRECTORY/TOPIC/id              what tells the topic from others of that name
DIRECTORY/TOPIC/7.tape          partition 7: the number of a line is its offset
DIRECTORY/TOPIC/7.start         the first offset that still counts, if it is not 0
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa

from penstock.api.source import (
    RECORD_COLUMNS,
    REPORT,
    TOPIC_COLUMN,
    ReadFailed,
    ReadRequest,
    SourceTools,
    SourceUnavailable,
    Task,
)
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.window import Available, PartitionOffsets, TopicOffsets

Ranges = tuple[OffsetRange, ...]


class TapeLine(msgspec.Struct, frozen=True):
    """One record."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    time_ms: int = 1_700_000_000_000


_decode = msgspec.json.Decoder(TapeLine).decode


class TapeSource:
    """The topics of one feed."""

    kind = "tape"

    def __init__(self, feed: FeedSpec, tools: SourceTools) -> None:
        if not tools.options.get("directory"):
            raise ValueError("`source.options` has no directory")
        self._feed = feed
        self._session = tools.session
        self._directory = tools.options["directory"]

    def look(self) -> Available:
        """Every topic that the feed wants; needs no Spark."""
        try:
            named = [each for each in sorted(Path(self._directory).iterdir()) if each.is_dir()]
            topics = tuple(_topic(each) for each in named if self._feed.wants(each.name))
        except OSError as error:
            raise SourceUnavailable(f"The tapes in {self._directory}", str(error)) from error
        return Available(f"tapes-in-{self._directory}", topics)

    def read(self, request: ReadRequest, task: Task) -> list[bytes]:
        """A job of Spark with the tasks that are wanted, or one per range."""
        parts = list(request.tasks) or [(covered,) for covered in request.ranges]
        count = len(parts)
        several = len({covered.topic for covered in request.ranges}) > 1
        run = reading(self._directory, parts, several, task)
        frame = self._session().range(0, count, 1, count)
        try:
            rows = frame.mapInArrow(run, f"{REPORT} binary").collect()
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ReadFailed(request.name, lines[-1]) from error
        return [bytes(row[REPORT]) for row in rows]

    def close(self) -> None:
        """Nothing to let go of."""


def reading(directory: str, parts: list[Ranges], several: bool, task: Task) -> Task:
    """A task that is given its number, and reads its ranges where it runs."""

    def run(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch["id"].to_pylist():
                yield from task(records(directory, parts[number], several))

    return run


def records(directory: str, ranges: Ranges, several: bool) -> Iterator[pa.RecordBatch]:
    """The records of some ranges; fails where one is gone."""
    for covered in ranges:
        topic = Path(directory) / covered.topic
        offsets, lines = _partition(topic, covered.partition)
        if covered.start < offsets.earliest or covered.end > offsets.latest:
            raise EOFError(f"{covered} is not there any more")
        there = range(covered.start, covered.end)
        rows = [_row(covered.partition, at, _decode(lines[at])) for at in there]
        batch = pa.RecordBatch.from_pylist(rows, schema=RECORD_COLUMNS)
        if several:
            names = pa.array([covered.topic] * len(rows), TOPIC_COLUMN.type)
            batch = batch.add_column(0, TOPIC_COLUMN, names)
        yield batch


def _topic(place: Path) -> TopicOffsets:
    numbers = sorted(int(file.stem) for file in place.glob("*.tape"))
    offsets = {number: _partition(place, number)[0] for number in numbers}
    return TopicOffsets(place.name, (place / "id").read_text(), offsets)


def _partition(topic: Path, number: int) -> tuple[PartitionOffsets, list[bytes]]:
    """Which lines count, and all of them; one without its end is still being written."""
    whole, end, _ = (topic / f"{number}.tape").read_bytes().rpartition(b"\n")
    lines = whole.split(b"\n") if end else []
    start = topic / f"{number}.start"
    earliest = int(start.read_text()) if start.exists() else 0
    return PartitionOffsets(earliest, len(lines)), lines


def _row(partition: int, offset: int, line: TapeLine) -> dict[str, object]:
    told = repr((offset, line.key, line.value)).encode()
    digest = hashlib.blake2b(told, digest_size=8).digest()
    headers = [
        {"key": key} if value is None else {"key": key, "value": base64.b64encode(value).decode()}
        for key, value in line.headers
    ]
    return {
        "partition": partition,
        "offset": offset,
        "timestamp": line.time_ms,
        "key": line.key,
        "value": line.value,
        "headers": json.dumps(headers, separators=(",", ":")) if headers else None,
        "hash": int.from_bytes(digest, "big", signed=True),
    }
