"""How far one feed is, from its journal and the last beat of its owner."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from penstock.model.debt import Debt
from penstock.model.entries import Counts
from penstock.model.final_days import Frontier
from penstock.model.learned import Learned
from penstock.model.read_ways import ReadWays
from penstock.model.value import Value
from penstock.protocol.feed_book.feed_lease import FeedBeat, FeedTrouble
from penstock.protocol.feed_book.state import FeedState, LateRows
from penstock.protocol.journal.beats import STALE_S
from penstock.status.halted_feed import ShownHalt


class Ends(Value, frozen=True):
    """Where Kafka's logs ended at a given time, by topic and partition."""

    latest: dict[str, dict[int, int]]
    as_of: str


class PartitionSnapshot(Value, frozen=True):
    """One partition: the next offset to read, where the log ended, and the lag."""

    topic: str
    partition: int
    watermark: int
    latest: int | None
    lag_records: int | None
    lag_seconds: float | None


class Means(Value, frozen=True, kw_only=True):
    """What a window is like on the average of recent ones; seconds of tasks, and on the clock."""

    record_bytes: float
    records: float
    rows: float
    read_bytes: float
    written_bytes: float
    files: float
    task_s: float
    elapsed_s: float


class FeedSnapshot(Value, frozen=True, kw_only=True):
    """One feed. Unknown values are None, never a guess.

    `state` is `halted` or `refused`, or that of its owner, which may be `in trouble`: then
    `trouble` says what fails, as it does for an owner that has fallen silent since.
    `missing_topics` are those that the configuration names and that the owner did not find when it
    last looked. `learned` are the means of recent windows, also by dataset and topic; `kept` what
    plug-ins keep with the last window.
    `final` says by dataset which days and hours are complete, `late` what came after that.
    `compaction_debt` is None where nobody has asked: it takes a listing of the lake.
    """

    feed: str
    state: str
    halted: ShownHalt | None
    trouble: FeedTrouble | None
    missing_topics: tuple[str, ...]
    watermark: dict[str, dict[int, int]]
    lag_records: int | None
    lag_seconds: float | None
    as_of: str | None
    as_of_age_s: float | None
    freshness_seconds: float | None
    windows: int
    last_window: str | None
    last_window_at: str | None
    last_window_age_s: float | None
    last_window_records: int
    counts: Counts
    left_quarantine: int
    undone: int
    parked: dict[str, str]
    stopped: tuple[str, ...]
    schemas: dict[str, int]
    owner: str
    owner_state: str
    owner_seen_at: str | None
    epoch: int
    partitions: tuple[PartitionSnapshot, ...]
    ways: tuple[ReadWays, ...] = ()
    learned: Means | None = None
    learned_datasets: dict[str, Means] = msgspec.field(default_factory=dict)
    learned_topics: dict[str, Means] = msgspec.field(default_factory=dict)
    kept: dict[str, str] = msgspec.field(default_factory=dict)
    final: dict[str, Frontier] = msgspec.field(default_factory=dict)
    late: dict[str, LateRows] = msgspec.field(default_factory=dict)
    compaction_debt: Debt | None = None


def snapshot(
    feed: str,
    state: FeedState,
    beat: FeedBeat | None,
    ends: Ends | None,
    now_s: float,
    *,
    halted: ShownHalt | None = None,
    topics: Sequence[str] = (),
) -> FeedSnapshot:
    """Build the snapshot. `ends` come from the owner's last beat, or from Kafka itself.

    `halted` is what the feed left in the lake when it halted; `topics` are those that its
    configuration names.
    """
    partitions = tuple(_partitions(state, ends, now_s))
    lags = [each.lag_records for each in partitions if each.lag_records is not None]
    ages = [each.lag_seconds for each in partitions if each.lag_seconds is not None]
    newest_ms = max((p.last_timestamp_ms for _, _, p in state.known_partitions()), default=-1)
    return FeedSnapshot(
        feed=feed,
        state=halted.state if halted is not None else _feed_state(beat, now_s),
        halted=halted,
        trouble=trouble_told(beat),
        missing_topics=_missing(topics, state, beat),
        watermark=_watermarks(state),
        lag_records=sum(lags) if lags else None,
        lag_seconds=max(ages) if ages else None,
        as_of=ends.as_of if ends is not None else None,
        as_of_age_s=_seconds_since(ends.as_of, now_s) if ends is not None else None,
        freshness_seconds=_age_s(newest_ms, now_s),
        windows=state.windows,
        last_window=state.last_window or None,
        last_window_at=state.last_window_at or None,
        last_window_age_s=_seconds_since(state.last_window_at, now_s),
        last_window_records=state.last_counts.read,
        counts=state.counts,
        left_quarantine=state.left_quarantine,
        undone=len(state.undone),
        parked=state.parked_datasets,
        stopped=tuple(state.stopped),
        schemas=dict(sorted(state.schemas.items())),
        owner=state.owner,
        owner_state=_owner_state(beat, now_s),
        owner_seen_at=beat.at if beat is not None else None,
        epoch=state.epoch,
        partitions=partitions,
        ways=tuple(ways for _, ways in sorted(state.ways.items())),
        learned=means_of(state.learned) if state.learned.windows else None,
        learned_datasets=_all_means(state.learned_datasets),
        learned_topics=_all_means(state.learned_topics),
        kept=dict(sorted(state.kept.items())),
        final=dict(sorted(state.final.items())),
        late=dict(sorted(state.late.items())),
    )


def means_of(learned: Learned) -> Means:
    """The means of what was learned."""
    mean = learned.mean()
    return Means(
        record_bytes=round(learned.record_bytes, 1),
        records=mean.records,
        rows=mean.rows,
        read_bytes=mean.read_bytes,
        written_bytes=mean.written_bytes,
        files=mean.files,
        task_s=mean.task_s,
        elapsed_s=mean.elapsed_s,
    )


def _all_means(learned: dict[str, Learned]) -> dict[str, Means]:
    return {name: means_of(each) for name, each in sorted(learned.items())}


def ends_of(beat: FeedBeat | None) -> Ends | None:
    """What the owner saw in Kafka when it last asked."""
    if beat is None or not beat.note.latest:
        return None
    return Ends(beat.note.latest, beat.note.looked_at)


def _missing(topics: Sequence[str], state: FeedState, beat: FeedBeat | None) -> tuple[str, ...]:
    """The topics that were never read, and that the owner did not find at its last look."""
    if beat is None or not beat.note.looked_at:
        return ()
    return tuple(
        name for name in topics if name not in state.topics and name not in beat.note.latest
    )


def _watermarks(state: FeedState) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for topic, partition, known in state.known_partitions():
        found.setdefault(topic, {})[partition] = known.watermark
    return found


def _partitions(state: FeedState, ends: Ends | None, now_s: float) -> Iterator[PartitionSnapshot]:
    for topic, partition, known in state.known_partitions():
        latest = ends.latest.get(topic, {}).get(partition) if ends is not None else None
        lag = None if latest is None else max(latest - known.watermark, 0)
        # Waiting records are younger than the last delivered record, so this is an upper bound.
        age = None if lag is None else (_age_s(known.last_timestamp_ms, now_s) if lag else 0.0)
        yield PartitionSnapshot(topic, partition, known.watermark, latest, lag, age)


def _age_s(timestamp_ms: int, now_s: float) -> float | None:
    return None if timestamp_ms < 0 else round(max(now_s - timestamp_ms / 1000, 0.0), 1)


def _seconds_since(at: str, now_s: float) -> float | None:
    """The seconds since a time in the journal; None if there is none, or it cannot be read."""
    try:
        return round(max(now_s - datetime.fromisoformat(at).timestamp(), 0.0), 1)
    except ValueError:
        return None


def trouble_told(beat: FeedBeat | None) -> FeedTrouble | None:
    """What failed when an owner that has not let go was last heard of; None: nothing."""
    return None if beat is None or beat.released else beat.note.trouble


def is_alive(beat: FeedBeat | None, now_s: float) -> bool:
    """Whether an owner seems to live. By the wall clock: for display only."""
    return _owner_state(beat, now_s) == "running"


def _feed_state(beat: FeedBeat | None, now_s: float) -> str:
    """The owner's state; of one that lives and cannot work, that it is in trouble."""
    state = _owner_state(beat, now_s)
    return "in trouble" if state == "running" and trouble_told(beat) is not None else state


def _owner_state(beat: FeedBeat | None, now_s: float) -> str:
    """The owner's state as one word. Uses the wall clock, which is only for display."""
    if beat is None:
        return "never ran"
    if beat.released:
        return "stopped"
    try:
        age_s = now_s - datetime.fromisoformat(beat.at).timestamp()
    except ValueError:
        return "unknown"
    return "running" if age_s < STALE_S else "silent"
