"""The lease of a feed, whose beats say what its owner does and what it last saw of Kafka."""

from functools import partial

import msgspec

from penstock.api.store import Store
from penstock.model.layout import Layout
from penstock.model.value import Value
from penstock.protocol.journal.beats import Beat
from penstock.protocol.journal.lease import Contender, Lease, newest_beat
from penstock.runtime.surroundings import Surroundings

# 1 had only the ends of logs, 2 knew no window sizes. A beat of a newer format says nothing to us,
# and decides nothing.
BEAT_FORMAT = 3


class FeedTrouble(Value, frozen=True):
    """What fails now and is tried again: its code, a sentence without values of records.

    `since` is when the first try failed, `tries` how many have failed since.
    """

    code: str
    sentence: str
    since: str
    tries: int


class LimitedSize(Value, frozen=True):
    """How many records a window may have after timeouts, and how many at the smallest size failed.

    The next owner goes on from there, so that a restart does not begin with the largest again.
    """

    most_records: int
    smallest_tries: int = 0


class Note(Value, frozen=True):
    """What the holder says about its work, for `status` and metrics.

    `latest` is where Kafka's logs end, and `earliest` where they begin, by topic and partition;
    `retention_s` is how long topics keep records, of those whose source says so. `trouble` is there
    while something fails, `limited` as long as timeouts make windows smaller.
    """

    epoch: int = 0
    latest: dict[str, dict[int, int]] = msgspec.field(default_factory=dict)
    looked_at: str = ""
    phase: str = ""
    window: str = ""
    earliest: dict[str, dict[int, int]] = msgspec.field(default_factory=dict)
    retention_s: dict[str, float] = msgspec.field(default_factory=dict)
    trouble: FeedTrouble | None = None
    limited: LimitedSize | None = None


class FeedBeat(Beat, frozen=True):
    """One sign of life of a feed's owner."""

    note: Note = Note()
    format: int = 1


_decoder = msgspec.json.Decoder(FeedBeat)


class FeedLease(Lease[FeedBeat]):
    """One contender for one feed's lease. `try_take` until it gives None, then `beat`."""

    def __init__(self, store: Store, layout: Layout, me: Contender, around: Surroundings) -> None:
        super().__init__(store, layout.lease, me, around, _decoder)

    def _a_beat(self, lease: int, beat: int) -> FeedBeat:
        return msgspec.structs.replace(super()._a_beat(lease, beat), format=BEAT_FORMAT)

    def beat(self, note: Note) -> None:
        """Leave the next sign of life; nothing when we hold no lease."""
        self.leave_beat(partial(_with_note, note))

    def release(self, note: Note) -> None:
        """Let go, so that the next one need not wait."""
        self.let_go(partial(_with_note, note))


def _with_note(note: Note, beat: FeedBeat) -> FeedBeat:
    return msgspec.structs.replace(beat, note=note)


def last_beat(store: Store, layout: Layout) -> FeedBeat | None:
    """The newest sign of life of a feed's owner, if there ever was one. Reads only."""
    return newest_beat(store, layout.lease, _decoder)
