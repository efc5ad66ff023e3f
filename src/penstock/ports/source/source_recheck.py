"""Reading any source once more, for an audit, with what every source can do."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import pyarrow as pa

from penstock.api.source import ReadFailed, ReadRequest, Source, SourceUnavailable, Task
from penstock.model.ranges import OffsetRange
from penstock.model.window import Available
from penstock.ports.source.found import RangeFound
from penstock.ports.source.recheck_tally import added_up, spans, tallying


class SourceRecheck:
    """The source of one feed as an audit reads it. Driver only."""

    def __init__(self, open_it: Callable[[], Source]) -> None:
        self._open = open_it

    @property
    def name(self) -> str:
        """What receipts call it."""
        return f"the source {self._source.kind}"

    def look(self, topics: Iterable[str]) -> Available:
        """What there is of these topics now; raises `SourceUnavailable`."""
        wanted = set(topics)
        seen = self._source.look()
        found = tuple(topic for topic in seen.topics if topic.topic in wanted)
        return Available(seen.cluster_id, found, seen.unreadable)

    def read(
        self, ranges: tuple[OffsetRange, ...], *, with_offsets: bool
    ) -> dict[OffsetRange, RangeFound]:
        """Read from the first of these ranges to the last, per partition, and sort what comes.

        Raises `SourceUnavailable`, also when a record is gone that was there a moment ago.
        """
        wanted = tuple(spans(ranges))
        task: Task = tallying(ranges, with_offsets=with_offsets)
        topics = {each.topic for each in wanted}
        if len(topics) == 1:
            task = _of_topic(topics.pop(), task)
        try:
            return added_up(self._source.read(ReadRequest("of the audit", wanted), task))
        except ReadFailed as error:
            raise SourceUnavailable(self.name.capitalize(), error.found.rstrip(".")) from error

    def close(self) -> None:
        """Let go of the source, if it was opened."""
        if "_source" in self.__dict__:
            self._source.close()

    @cached_property
    def _source(self) -> Source:
        return self._open()


def _of_topic(topic: str, task: Task) -> Task:
    """A task for records that do not say their topic, since all are of one."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        def with_topic() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                names = pa.array([topic] * batch.num_rows, pa.string())
                yield batch.append_column("topic", names)

        return task(with_topic())

    return run
