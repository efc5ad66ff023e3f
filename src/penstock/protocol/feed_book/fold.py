"""The fold of a feed: entries in, state out. Pure."""

from collections.abc import Mapping
from typing import assert_never

from penstock.model.entries import (
    AnyBody,
    Bind,
    Compact,
    Consuming,
    Deciding,
    Drop,
    Finalize,
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
from penstock.model.envelope import Claim, Seal
from penstock.model.final_days import Frontier
from penstock.model.lanes import DELETE, dataset_of, lane_in, part_of, parts_of
from penstock.model.learned import Learned
from penstock.model.manifest import Content
from penstock.model.names import parse_name
from penstock.model.refused_records import add_refused
from penstock.model.steps import DeleteInputs
from penstock.model.window_cost import Spent, WindowCost, add_spent
from penstock.protocol.feed_book.state import FeedState, LateRows, Owed, PartitionState, Undone


def apply_body(state: FeedState, sealed: SealedEntry) -> None:
    """Take what one entry decides, already judged by the rules, into the state."""
    entry = sealed.entry
    match entry.body:
        case Bind() as bind:
            state.cluster_id, state.files = bind.cluster_id, bind.files
        case Claim() | Seal():
            pass  # the journal takes up the epoch, the owner and the seal
        case Start() as start:
            _start(state, start.partitions)
        case Window() as window:
            _cover(state, window, entry.at)
            _note_late(state, sealed, window.late)
        case Replay() as replay:
            _show_versions(state, replay.schemas)
            state.directories |= replay.directories
            state.left_quarantine += replay.consumed or _named(replay.content)
            state.records_taken_at = entry.number
            _note_late(state, sealed, replay.late)
        case Drop() as drop:
            state.left_quarantine += _named(drop.content)
            state.records_taken_at = entry.number
        case Gap() as gap:
            _partition(state, gap.range.topic_id, gap.range.partition).watermark = gap.range.end
        case Seek() as seek:
            _partition(state, seek.topic_id, seek.partition).watermark = seek.to_offset
        case Rebind() as rebind:
            state.topics[rebind.topic] = rebind.new_id
            state.partitions.setdefault(rebind.new_id, {})
            _start(state, rebind.partitions)
        case Park() as park:
            state.parked[part_of(park.dataset, park.lane)] = park.reason
        case Unpark() as unpark:
            _unpark(state, unpark)
        case Compact() | Retire():
            state.files_taken_at = entry.number
        case Finalize() as finalize:
            state.finalized_at = entry.number
            for dataset in finalize.datasets:
                known = state.final.get(dataset, Frontier())
                state.final[dataset] = known.furthest(finalize.frontier)
        case Generation():
            state.files_taken_at = state.records_taken_at = entry.number
        case Replace():
            pass  # it moves no watermark; what it delivers is taken up below
        case _ as never:
            assert_never(never)
    _take_up_groups(state, sealed)


def _note_late(state: FeedState, sealed: SealedEntry, late: Mapping[str, int]) -> None:
    """Take up rows of days and hours that were final before."""
    window = sealed.body.window if isinstance(sealed.body, Deciding) else ""
    for dataset, rows in late.items():
        before = state.late.get(dataset, LateRows())
        state.late[dataset] = LateRows(
            before.rows + rows, before.entries + 1, sealed.number, window, sealed.entry.at
        )


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
        known.largest_timestamp_ms = max(known.largest_timestamp_ms, last.largest_ms)
    _show_versions(state, window.schemas)
    state.directories |= window.directories
    state.settings |= window.settings
    for ways in window.ways:
        before = state.ways.get(ways.dataset)
        state.ways[ways.dataset] = ways if before is None else before + ways
    # What is stopped already keeps its cause: the window with the first such records.
    new = {name: why for name, why in window.stops.items() if name not in state.stopped}
    state.parked.update({part_of(name): why for name, why in new.items()})
    state.stopped = sorted({*state.stopped, *new})
    state.windows += 1
    state.last_window, state.last_window_at, state.last_counts = window.window, at, window.counts
    state.counts += window.counts
    # Halving forgets: the size of records follows the topic, and one odd window weighs little.
    state.recent_read = state.recent_read // 2 + window.counts.read
    state.recent_bytes = state.recent_bytes // 2 + window.counts.read_bytes
    # Slower: a topic that had a large record will have another one, perhaps not in every window.
    state.recent_largest = max(state.recent_largest * 15 // 16, window.counts.largest_bytes)
    state.kept |= window.kept
    add_refused(state.refused, window.refused)
    if window.cost is not None:
        _learn(state, window.cost)


def _learn(state: FeedState, cost: WindowCost) -> None:
    """Take what a window took into the sums, and into what recent ones were like."""
    state.costed_windows += 1
    whole = sum(cost.topics, Spent(""))
    state.learned = state.learned.after(whole, cost.elapsed_ms)
    for parts, learned, spent in (
        (cost.datasets, state.learned_datasets, state.spent_datasets),
        (cost.topics, state.learned_topics, state.spent_topics),
    ):
        add_spent(spent, parts)
        for each in parts:
            if each.name:
                before = learned.get(each.name, Learned())
                learned[each.name] = before.after(each, cost.elapsed_ms)


def _show_versions(state: FeedState, versions: dict[str, int]) -> None:
    """The newest version of each dataset; a replay may deliver with one that is older by now."""
    for dataset, version in versions.items():
        state.schemas[dataset] = max(version, state.schemas.get(dataset, 0))


def _unpark(state: FeedState, unpark: Unpark) -> None:
    for part in [each for each in state.parked if dataset_of(each) == unpark.dataset]:
        if unpark.lane in ("", lane_in(part)):
            del state.parked[part]
    state.stopped = [name for name in state.stopped if name != unpark.dataset]


def _take_up_groups(state: FeedState, sealed: SealedEntry) -> None:
    """A deciding entry has work to do until markers prove otherwise, or another consumes it."""
    body = sealed.body
    if not isinstance(body, Deciding):
        return
    if isinstance(body, Replace):
        if (lost := state.undone.get(body.number)) is not None:
            lost.replaced_by.append(sealed.number)
        return
    number, sha256, window = sealed.number, sealed.sha256, body.window
    parts = parts_to_mark(body)
    if visible := [part for part in parts if lane_in(part) != DELETE]:
        state.undone[number] = Undone(number, sha256, window, visible)
    if deletions := [part for part in parts if lane_in(part) == DELETE]:
        state.owed[number] = Owed(number, sha256, window, deletions, _not_before_s(body))
    if isinstance(body, Consuming):
        _prove_consumed(state, body)


def parts_to_mark(body: AnyBody) -> tuple[str, ...]:
    """The parts of an entry that markers prove; what is derived again is marked where it was."""
    if not isinstance(body, Deciding) or isinstance(body, Replace):
        return ()
    return tuple(parts_of(body.groups))


def _not_before_s(body: Deciding) -> float:
    """When the deletions of an entry may begin: all of them wait for the last."""
    steps = [step for group in body.groups for step in group.steps]
    return max((step.not_before_s for step in steps if isinstance(step, DeleteInputs)), default=0.0)


def _prove_consumed(state: FeedState, body: Consuming) -> None:
    """Only what is done can be consumed, so it was done, although its marker may be lost.

    This is about files and tables. Deletions that a consumed entry owes are still owed.
    """
    for dataset, number in _consumed(state, body):
        undone = state.undone.get(number)
        if undone is None:
            continue
        undone.parts = [part for part in undone.parts if dataset_of(part) != dataset]
        if not undone.parts:
            del state.undone[number]


def _consumed(state: FeedState, body: Consuming) -> list[tuple[str, int]]:
    """The groups that an entry consumes, by dataset and entry.

    Older formats name only files, which tell their windows, if the content is in the entry.
    """
    if body.consumes is not None:
        return [(each.dataset, number) for each in body.consumes for number in each.entries]
    numbers = {undone.window: number for number, undone in state.undone.items()}
    names = [
        (taken.dataset, parse_name(taken.final))
        for taken in (body.content.inputs if body.content is not None else ())
    ]
    return [
        (dataset, numbers[name.window])
        for dataset, name in names
        if name is not None and name.window in numbers
    ]
