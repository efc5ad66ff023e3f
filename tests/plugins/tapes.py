"""Tapes for the source of `acme`, and a session that runs its tasks in this process."""

import shutil
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path

import msgspec
import pyarrow as pa

from penstock.api.source import Source, SourceTools, Task
from penstock.model.spec import FeedSpec, SourceSpec
from penstock.testing.list_source import ListedRecord
from tests.plugins.acme.acme_penstock.tape_source import TapeLine, TapeSource


class Tapes:
    """A directory of tapes, and hands that change it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._ids = count(1)
        directory.mkdir(exist_ok=True)

    def open(self, *topics: str) -> Source:
        """A new source whose tasks run here."""
        feed = FeedSpec(name="feed", topics=topics, source=SourceSpec("tape"))
        return TapeSource(feed, SourceTools(Here, {"directory": str(self.directory)}))

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        """Empty tapes."""
        place = self.directory / topic
        place.mkdir()
        (place / "id").write_text(f"{topic}-{next(self._ids)}")
        for number in range(partitions):
            (place / f"{number}.tape").touch()

    def delete_topic(self, topic: str) -> None:
        """Take the tapes away."""
        shutil.rmtree(self.directory / topic)

    def append(self, topic: str, partition: int, *records: ListedRecord) -> None:
        """Write records to the end of a tape."""
        with (self.directory / topic / f"{partition}.tape").open("ab") as tape:
            for each in records:
                line = TapeLine(each.value, each.key, each.headers)
                if each.timestamp_ms is not None:
                    line = msgspec.structs.replace(line, time_ms=each.timestamp_ms)
                tape.write(msgspec.json.encode(line) + b"\n")

    def expire(self, topic: str, partition: int, before: int) -> None:
        """Let a tape start later."""
        (self.directory / topic / f"{partition}.start").write_text(str(before))


class Here:
    """As much of a Spark session as the source needs, in this process."""

    def range(self, start: int, end: int, step: int, parts: int) -> "Here":
        """One task per number."""
        assert (start, step, end) == (0, 1, parts)
        self._numbers = pa.RecordBatch.from_pydict({"id": list(range(parts))})
        return self

    def mapInArrow(self, run: Task, schema: str) -> "Here":  # noqa: N802
        """Each task gets its number."""
        assert schema == "report binary"
        self._run: Callable[[], Iterable[pa.RecordBatch]] = lambda: (
            batch for at in range(len(self._numbers)) for batch in run([self._numbers.slice(at, 1)])
        )
        return self

    def collect(self) -> list[dict[str, bytes]]:
        """What tasks report."""
        return [row for batch in self._run() for row in batch.to_pylist()]
