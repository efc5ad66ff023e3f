"""What is written down when a feed halts: from the error to the objects in the lake. Pure."""

from dataclasses import dataclass

import msgspec

from penstock.errors import FeedHalted, PenstockError
from penstock.feeds.errors import WindowRefused
from penstock.model.halted import (
    LONGEST_TEXT,
    MOST_POSITIONS,
    MOST_RANGES,
    Halted,
    HaltedGroup,
    HaltedSample,
)
from penstock.model.row_config import digest_of
from penstock.model.row_settings import row_settings
from penstock.model.spec import FeedSpec
from penstock.model.window import StageOrder
from penstock.protocol.feed_book.state import FeedState

_BESIDE_ROWS = frozenset({"compression"})


@dataclass(frozen=True, slots=True)
class HaltMoment:
    """Where and when a feed halted, and the window that it was at, if there was one."""

    lake: str
    state: FeedState
    at: str
    owner: str
    order: StageOrder | None = None


def halted_by(error: PenstockError, feed: FeedSpec, moment: HaltMoment) -> Halted:
    """What is to be said about a halt, without values of records."""
    halt = error if isinstance(error, FeedHalted) else None
    order = moment.order if isinstance(error, WindowRefused) else None
    ranges = order.ranges if order is not None else ()
    return Halted(
        feed=feed.name,
        lake=moment.lake,
        epoch=moment.state.epoch,
        number=moment.state.number + 1,
        windows=moment.state.windows,
        code=error.code,
        sentence=error.found[:LONGEST_TEXT],
        advice=error.advice[:LONGEST_TEXT],
        since=moment.at,
        at=moment.at,
        owner=moment.owner,
        window=order.window if order is not None else "",
        ranges=ranges[:MOST_RANGES],
        more_ranges=max(len(ranges) - MOST_RANGES, 0),
        places=halt.places if halt is not None else (),
        reasons=dict(halt.reasons) if halt is not None else {},
        groups=_groups(halt) if halt is not None else (),
        config=feed_digest(feed),
    )


def samples_of(error: PenstockError) -> tuple[HaltedSample, ...]:
    """Broken records with their raw bytes, of a window that was refused because of them."""
    if not isinstance(error, FeedHalted):
        return ()
    return tuple(
        HaltedSample(group.fingerprint, record)
        for group in error.broken
        for record in group.samples
    )


def feed_digest(feed: FeedSpec) -> str:
    """A digest of what may let a feed go on: how records become rows, which are read, the limits.

    What only says how files are packed, or when a window ends, changes nothing about a halt.
    """
    rows = {key: value for key, value in row_settings(feed).items() if key not in _BESIDE_ROWS}
    read = (feed.topics, feed.pattern, feed.exclude, feed.source, feed.start)
    misfits = (feed.decode.incompatible, [each.incompatible for each in feed.datasets])
    limits = (feed.quarantine, feed.window.max_records, feed.on_gap, misfits)
    # Partitions of `start` are numbers, which can be sorted as keys only when they are texts.
    plain = msgspec.to_builtins((rows, read, limits, feed.generation), str_keys=True)
    return digest_of(msgspec.json.encode(plain, order="sorted"))


def _groups(halt: FeedHalted) -> tuple[HaltedGroup, ...]:
    """The groups, with the positions of a few samples in all, those of the largest group first."""
    left = MOST_POSITIONS
    found = []
    for group in halt.broken:
        found.append(HaltedGroup.of(group, left))
        left -= len(found[-1].samples)
    return tuple(found)
