"""Errors of the window loop."""

from collections.abc import Mapping

from penstock.errors import FeedHalted, PenstockError

_SHOWN = 3


class FormatChanged(PenstockError):
    """The configuration has another file format than the feed has written so far."""

    code = "FORMAT_CHANGED"
    exit_code = 2

    def __init__(self, feed: str, before: str, now: str) -> None:
        super().__init__(
            f"Feed {feed!r} has written {before} files since its first start, but `format` is "
            f"{now}.",
            "Nothing was read. No reader treats a directory with both formats as one table. Set "
            "`format` back, or read the topics with a feed of another name.",
        )
        self.before, self.now = before, now


class PartitionChanged(PenstockError):
    """The configuration has other directories for a dataset than it has been written in."""

    code = "PARTITION_CHANGED"
    exit_code = 2

    def __init__(
        self, feed: str, changed: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
    ) -> None:
        told = [
            f"{dataset} lies in directories by {', '.join(before)} and would get {', '.join(now)}"
            for dataset, (before, now) in sorted(changed.items())[:_SHOWN]
        ]
        more = len(changed) - len(told)
        super().__init__(
            f"`partition` of feed {feed!r} does not fit what was delivered: {'; '.join(told)}"
            f"{f'; and {more} more' if more else ''}.",
            "Nothing became visible. No reader treats a directory with both as one table. Set "
            "`partition` back, for one dataset with `partition` below `datasets`; or read the "
            "topics with a feed of another name.",
        )
        self.changed = dict(changed)


class TopicWithoutId(FeedHalted):
    """The source gives a topic no id of its own, so its identity cannot be checked."""

    code = "TOPIC_ID_MISSING"

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"Topic {topic!r} has no topic id: its broker is older than Kafka 2.8, or gives none, "
            "and a topic that is deleted and created again would look the same.",
            "Nothing was read. Upgrade the brokers, and `inter.broker.protocol.version` with them, "
            "to 2.8 or newer; then run again.",
        )
        self.topic = topic
