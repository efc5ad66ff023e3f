"""The fold of a feed: entries in, state out. Pure."""

from typing import assert_never

from penstock.model.entries import (
    Bind,
    Compact,
    Deciding,
    Drop,
    Gap,
    Generation,
    Park,
    PartitionStart,
    Rebind,
    Replace,
    Replay,
    Retire,
    SealedEntry,
    Seek,
    Start,
    Unpark,
    Window,
)
from penstock.model.envelope import Claim
from penstock.model.manifest import Content
from penstock.protocol.feed_book.state import FeedState, PartitionState, Undone


def apply_body(state: FeedState, sealed: SealedEntry) -> None:
    """Take what one entry decides, already judged by the rules, into the state."""
    entry = sealed.entry
    match entry.body:
        case Bind() as bind:
            state.cluster_id, state.files = bind.cluster_id, bind.files
        case Claim():
            pass  # the journal takes up the epoch and the owner
        case Start() as start:
            _start(state, start.partitions)
        case Window() as window:
            _cover(state, window, entry.at)
        case Replay() as replay:
            _show_versions(state, replay.schemas)
            state.directories |= replay.directories
            state.left_quarantine += replay.consumed or _named(replay.content)
        case Drop() as drop:
            state.left_quarantine += _named(drop.content)
        case Gap() as gap:
            _partition(state, gap.range.topic_id, gap.range.partition).watermark = gap.range.end
        case Seek() as seek:
            _partition(state, seek.topic_id, seek.partition).watermark = seek.to_offset
        case Rebind() as rebind:
            state.topics[rebind.topic] = rebind.new_id
            state.partitions.setdefault(rebind.new_id, {})
            _start(state, rebind.partitions)
        case Park() as park:
            state.parked[park.dataset] = park.reason
        case Unpark() as unpark:
            del state.parked[unpark.dataset]
            state.stopped = [name for name in state.stopped if name != unpark.dataset]
        case Replace() | Compact() | Retire() | Generation():
            pass  # they move no watermark; what they deliver is taken up below
        case _ as never:
            assert_never(never)
    _take_up_groups(state, sealed)


def _named(content: Content | None) -> int:
    """How many quarantined records an entry names; 0 if an old one has them in a manifest."""
    return 0 if content is None else sum(len(part.offsets) for part in content.records)


def _partition(state: FeedState, topic_id: str, partition: int) -> PartitionState:
    return state.partitions[topic_id][partition]


def _start(state: FeedState, starts: tuple[PartitionStart, ...]) -> None:
    for start in starts:
        state.topics[start.topic] = start.topic_id
        known = state.partitions.setdefault(start.topic_id, {})
        known[start.partition] = PartitionState(start.topic, start.offset, start.offset)


def _cover(state: FeedState, window: Window, at: str) -> None:
    for covered in window.ranges:
        known = _partition(state, covered.topic_id, covered.partition)
        known.watermark = known.floor = covered.end
        known.last_window = window.window
    for last in window.last_records:
        known = _partition(state, last.topic_id, last.partition)
        known.last_offset, known.last_hash = last.offset, last.content_hash
        known.last_timestamp_ms = last.timestamp_ms
    _show_versions(state, window.schemas)
    state.directories |= window.directories
    state.settings |= window.settings
    for ways in window.ways:
        before = state.ways.get(ways.dataset)
        state.ways[ways.dataset] = ways if before is None else before + ways
    # What is stopped already keeps its cause: the window with the first such records.
    new = {name: why for name, why in window.stops.items() if name not in state.stopped}
    state.parked.update(new)
    state.stopped = sorted({*state.stopped, *new})
    state.windows += 1
    state.last_window, state.last_window_at, state.last_counts = window.window, at, window.counts
    state.counts += window.counts
    # Halving forgets: the size of records follows the topic, and one odd window weighs little.
    state.recent_read = state.recent_read // 2 + window.counts.read
    state.recent_bytes = state.recent_bytes // 2 + window.counts.read_bytes
    # Slower: a topic that had a large record will have another one, perhaps not in every window.
    state.recent_largest = max(state.recent_largest * 15 // 16, window.counts.largest_bytes)


def _show_versions(state: FeedState, versions: dict[str, int]) -> None:
    """The newest version of each dataset; a replay may deliver with one that is older by now."""
    for dataset, version in versions.items():
        state.schemas[dataset] = max(version, state.schemas.get(dataset, 0))


def _take_up_groups(state: FeedState, sealed: SealedEntry) -> None:
    """A deciding entry has work to do until markers prove otherwise."""
    body = sealed.body
    if not isinstance(body, Deciding):
        return
    if isinstance(body, Replace):
        state.undone[body.number].replaced_by.append(sealed.number)
    elif body.groups:
        names = [group.dataset for group in body.groups]
        state.undone[sealed.number] = Undone(sealed.number, sealed.sha256, body.window, names)
