"""The offsets of a reset that somebody else knows: those of a time, of a group, or of a file."""

from collections.abc import Iterable, Mapping
from typing import assert_never

from penstock.care.reset_targets import Target
from penstock.cli.errors import UsageMistake
from penstock.cli.source_connection import AskedSource, group_offsets, offsets_at
from penstock.config.mistakes import Refused
from penstock.config.offsets_file import offsets_of_file
from penstock.model.ranges import TopicPartition
from penstock.model.spec import FeedSpec
from penstock.model.window import Place
from penstock.protocol.feed_book.state import FeedState

_MOST_SHOWN = 20
_ORIGINS = {"group": "consumer group", "file": "file", "time": "time"}


def given_offsets(
    source: AskedSource,
    feed: FeedSpec,
    state: FeedState,
    places: Iterable[TopicPartition],
    target: Target,
) -> Mapping[TopicPartition, int]:
    """The offset of each partition; empty if the target needs nobody to be asked.

    Raises if one of them has none: a reset that leaves partitions out is not what was asked for.
    """
    names = {topic_id: name for name, topic_id in state.topics.items()}
    wanted = {place: (names[place.topic_id], place.partition) for place in places}
    found: Mapping[Place, int]
    match target.kind:
        case "earliest" | "latest" | "offset" | "shift":
            return {}
        case "time":
            times = dict.fromkeys(wanted.values(), target.number)
            found = offsets_at(source, feed, times) if times else {}
        case "group":
            found = group_offsets(source, feed, target.word)
        case "file":
            found = _of_file(target.word)
        case _ as never:
            assert_never(never)
    absent = sorted(where for where in wanted.values() if where not in found)
    if absent:
        raise _incomplete(target, absent)
    return {place: found[where] for place, where in wanted.items()}


def _incomplete(target: Target, absent: list[Place]) -> UsageMistake:
    named = ", ".join(f"{topic}/{partition}" for topic, partition in absent[:_MOST_SHOWN])
    more = f" and {len(absent) - _MOST_SHOWN} more" if absent[_MOST_SHOWN:] else ""
    return UsageMistake(
        f"The {_ORIGINS[target.kind]} {target.word!r} has no offset for {named}{more}.",
        "Nothing was changed. To move the other partitions, name them with `--topic T:0,1`.",
    )


def _of_file(name: str) -> dict[Place, int]:
    """The offsets that a file names."""
    try:
        found = offsets_of_file(name)
    except Refused as refused:
        raise UsageMistake(
            f"The offsets of {name!r} cannot be used: {refused.found}.",
            f"Nothing was changed. Wanted: {refused.allowed}.",
        ) from refused
    return {(topic, p): offset for topic, offsets in found.items() for p, offset in offsets.items()}
