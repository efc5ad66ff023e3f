"""Where reading begins in partitions that were never read: what `start` means in each of them.

Nothing may be skipped by mistake. An offset that has expired is written down as it is, and is a gap
then, as any other. An offset beyond the end of the log belongs to another log, and is refused.

`group` and `file` are for coming from another consumer. On the first start every partition must
have an offset, unless `missing: earliest` is set; all that have none are named at once. If not one
has an offset, the name of the group is wrong, or the file is that of other topics. Topics that
the feed meets later begin where the group or the file says, and otherwise at the beginning of their
log.
"""

from collections.abc import Callable, Mapping
from typing import Protocol, assert_never

from penstock.api.source import ReadsGroupOffsets, ResolvesStarts
from penstock.feeds.errors import (
    PartitionsUnread,
    StartBeyondLog,
    StartIncomplete,
    StartNotResolved,
)
from penstock.model.spec import FeedSpec
from penstock.model.window import Available, PartitionOffsets, Place


class LooksAtTopics(Protocol):
    """A source, as far as starts are concerned."""

    def look(self) -> Available:
        """What there is to read now."""
        ...


class StartOffsets:
    """The first offsets of one feed. Driver only; asked once per partition, by a run and a check.

    `is_first` tells whether the feed has never read anything.
    """

    def __init__(self, feed: FeedSpec, source: LooksAtTopics, is_first: Callable[[], bool]) -> None:
        self._feed = feed
        self._source = source
        self._is_first = is_first
        self._given: dict[Place, int] | None = None
        self._asked: set[str] = set()

    def of(self, topic: str, partition: int, offsets: PartitionOffsets) -> int:
        """The first offset to read of a partition."""
        start = self._feed.start
        match start.kind:
            case "earliest":
                return offsets.earliest
            case "latest":
                return offsets.latest
            case "offsets":
                wanted = start.offsets.get(topic, {}).get(partition)
                return self._within(topic, partition, offsets, wanted)
            case "time":
                if not isinstance(self._source, ResolvesStarts):
                    raise StartNotResolved("a time", topic, partition)
                return self._source.offset_at(topic, partition, start.time_ms)
            case "group" | "file":
                wanted = self._offsets_for(topic, partition).get((topic, partition))
                return self._within(topic, partition, offsets, wanted)
            case _ as never:
                assert_never(never)

    def _within(
        self, topic: str, partition: int, offsets: PartitionOffsets, wanted: int | None
    ) -> int:
        """The offset that is wanted, if the log can have it: never another one in silence."""
        if wanted is None:
            return offsets.earliest
        if wanted > offsets.latest:
            raise StartBeyondLog(self._origin, topic, partition, wanted, offsets.latest)
        return wanted

    def _offsets_for(self, topic: str, partition: int) -> Mapping[Place, int]:
        """The offsets of the group or the file; a group is asked again for a new topic."""
        if self._given is None or topic not in self._asked:
            self._given = self._ask(topic, partition)
            self._asked |= {topic, *(name for name, _ in self._given)}
            if self._is_first():
                self._require_offsets(self._given)
        return self._given

    def _ask(self, topic: str, partition: int) -> dict[Place, int]:
        start = self._feed.start
        if start.kind == "file":
            return {
                (name, number): offset
                for name, partitions in start.offsets.items()
                for number, offset in partitions.items()
            }
        if not isinstance(self._source, ReadsGroupOffsets):
            raise StartNotResolved("a consumer group", topic, partition)
        return dict(self._source.group_offsets(start.group))

    def _require_offsets(self, given: Mapping[Place, int]) -> None:
        """Every partition has an offset, also those that cannot be read at this moment.

        One that is left out would begin at the start of its log later. `missing: earliest` allows
        that for some partitions; for all of them it would hide a misspelt name.
        """
        available = self._source.look()
        places = [
            (topic.topic, partition)
            for topic in available.topics
            for partition in sorted(topic.partitions)
        ]
        absent = tuple(place for place in places if place not in given)
        has_none = len(absent) == len(places)
        if self._feed.start.missing == "earliest" and not has_none:
            return
        if available.unreadable:
            raise PartitionsUnread(self._feed.name, available.unreadable)
        if absent:
            raise StartIncomplete(self._feed.name, self._origin, absent, has_none=has_none)

    @property
    def _origin(self) -> str:
        """Where the offsets come from, in words."""
        start = self._feed.start
        match start.kind:
            case "group":
                return f"The consumer group {start.group!r}"
            case "file":
                return "The file"
            case "earliest" | "latest" | "time" | "offsets":
                return "`start`"
            case _ as never:
                assert_never(never)
