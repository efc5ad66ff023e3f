"""When an entry of a feed may follow the entries before it.

The same rules judge an entry before it is appended and when it is folded: a decision that they
refuse is never written, and one that is found in the journal proves a bug or a foreign hand.
Each rule answers with a sentence, or None.
"""

from typing import assert_never

from penstock.model.entries import (
    Bind,
    Compact,
    Drop,
    Entry,
    Finalize,
    Gap,
    Generation,
    Park,
    PartitionStart,
    Rebind,
    Replace,
    Replay,
    Retire,
    Seek,
    Start,
    Unpark,
    Window,
)
from penstock.model.envelope import Claim, Seal
from penstock.model.final_days import Frontier
from penstock.model.lanes import dataset_of, lane_in, part_of
from penstock.model.names import epoch_of, is_window_id
from penstock.model.ranges import TopicPartition
from penstock.model.steps import FINALIZE
from penstock.protocol.feed_book.state import FeedState, has_undone


def body_objection(state: FeedState, entry: Entry) -> str | None:
    """What the kind of entry asks of the state before it."""
    match entry.body:
        case Bind() | Claim() | Seal():
            return None  # the journal judges them
        case Start() as start:
            return starts_objection(state, start.partitions)
        case Window() as window:
            return window_objection(state, entry.epoch, window)
        case Gap() as gap:
            return gap_objection(state, gap)
        case Seek() as seek:
            return seek_objection(state, seek)
        case Rebind() as rebind:
            return rebind_objection(state, rebind)
        case Park() as park:
            return park_objection(state, park)
        case Unpark() as unpark:
            return unpark_objection(state, unpark)
        case Replace() as replace:
            return replace_objection(state, replace)
        case Replay() as replay:
            stale = stale_objection(entry.epoch, replay.window)
            return stale or corrections_objection(replay) or finalized_objection(state, replay)
        case Finalize() as finalize:
            stale = stale_objection(entry.epoch, finalize.window)
            return stale or finalize_objection(state, finalize)
        case Compact() as compact:
            return stale_objection(entry.epoch, compact.window) or values_objection(compact)
        case Retire() | Generation():
            return stale_objection(entry.epoch, entry.body.window)
        case Drop():
            return None
        case _ as never:
            assert_never(never)


def stale_objection(epoch: int, window: str) -> str | None:
    """Files staged in an older epoch may have been cleaned away: they must not be decided."""
    if not is_window_id(window):
        return f"{window!r} is not a window id"
    if epoch_of(window) != epoch:
        return f"it was staged as {window}, and the epoch is {epoch} now"
    return None


def values_objection(compact: Compact) -> str | None:
    """A compaction keeps every value: that its rows are the same is judged by the inventory."""
    if compact.value_sum == compact.input_sum:
        return None
    return (
        f"the values of its files add up to {compact.value_sum}, and those of its inputs to "
        f"{compact.input_sum}"
    )


def corrections_objection(replay: Replay) -> str | None:
    """Corrected records have an author and a reason, and their bytes lie in the lake."""
    corrections = replay.corrections
    if corrections is None:
        return None
    if not replay.author.strip() or not corrections.reason.strip():
        return "corrections need an author and a reason"
    if not corrections.files:
        return "it names no file with the corrected records"
    return None


def window_objection(state: FeedState, epoch: int, window: Window) -> str | None:
    """Each range starts where the partition's last one ended; nothing twice, nothing skipped."""
    stale = stale_objection(epoch, window.window)
    if stale:
        return stale
    seen = set()
    for covered in window.ranges:
        known = state.partition(covered.place)
        if known is None or state.topics.get(covered.topic) != covered.topic_id:
            return f"{covered} has no start, or is of a topic that was replaced"
        if covered.place in seen:
            return f"{covered.topic}/{covered.partition} is named twice"
        if covered.start != known.watermark:
            return f"{covered} does not start at the watermark {known.watermark}"
        if covered.is_empty:
            return f"{covered} is empty"
        seen.add(covered.place)
    return (
        window.file_plan.objection(window.ranges)
        or last_records_objection(window)
        or finalized_objection(state, window)
    )


def finalized_objection(state: FeedState, body: Window | Replay) -> str | None:
    """What delivers rows knows which days are final: else late ones would come without a mark."""
    if body.finalized_at == state.finalized_at:
        return None
    return f"days were finalized by entry {state.finalized_at}, which it does not know"


def finalize_objection(state: FeedState, finalize: Finalize) -> str | None:
    """It knows all that was decided, and no frontier goes back."""
    if finalize.as_of != state.number:
        return f"it is as of entry {finalize.as_of}, and entry {state.number} came since"
    if not finalize.frontier.is_in_form:
        return f"{finalize.frontier} is not a frontier"
    if not finalize.datasets or len(set(finalize.datasets)) != len(finalize.datasets):
        return "it names no dataset, or one twice"
    for dataset in finalize.datasets:
        known = state.final.get(dataset, Frontier())
        if known.furthest(finalize.frontier) == known:
            return f"{dataset} is final up to there already"
    others = {group.dataset for group in finalize.groups} - {*finalize.datasets}
    if others or any(group.steps != FINALIZE for group in finalize.groups):
        return "it has groups of other datasets, or with other steps"
    return None


def last_records_objection(window: Window) -> str | None:
    """The last record of a range lies in it."""
    covered = {each.place: each for each in window.ranges}
    for last in window.last_records:
        place = TopicPartition(last.topic_id, last.partition)
        if place not in covered or last.offset not in covered[place]:
            return f"offset {last.offset} of partition {last.partition} is not in its ranges"
    return None


def starts_objection(state: FeedState, starts: tuple[PartitionStart, ...]) -> str | None:
    """A partition starts once per life of its topic, and a topic has one life at a time."""
    topics = dict(state.topics)
    seen = set()
    for start in starts:
        if state.partition(start.place) is not None or start.place in seen:
            return f"{start.topic}/{start.partition} has started already"
        if topics.setdefault(start.topic, start.topic_id) != start.topic_id:
            return f"topic {start.topic} is bound to another id; it needs a rebind"
        seen.add(start.place)
    return None


def gap_objection(state: FeedState, gap: Gap) -> str | None:
    """Only what comes next can be given up."""
    known = state.partition(gap.range.place)
    if known is None:
        return f"{gap.range} has no start"
    if gap.range.start != known.watermark or gap.range.is_empty:
        return f"{gap.range} does not start at the watermark {known.watermark}"
    return None


def seek_objection(state: FeedState, seek: Seek) -> str | None:
    """A seek goes over offsets that were never delivered, forward or back."""
    known = state.partition(seek.place)
    if known is None:
        return f"{seek.topic}/{seek.partition} has no start"
    if seek.from_offset != known.watermark:
        name = f"{seek.topic}/{seek.partition}"
        return f"the watermark of {name} is {known.watermark}, not {seek.from_offset}"
    if seek.to_offset < known.floor:
        return (
            f"{seek.topic}/{seek.partition} was delivered up to {known.floor}; going back over "
            "delivered offsets needs a new generation"
        )
    return None


def rebind_objection(state: FeedState, rebind: Rebind) -> str | None:
    """A rebind names the life that ends and one that was never read."""
    if state.topics.get(rebind.topic) != rebind.old_id:
        return f"topic {rebind.topic} is not bound to {rebind.old_id}"
    if rebind.new_id in state.partitions:
        return f"topic id {rebind.new_id} was read before"
    lives = {(start.topic, start.topic_id) for start in rebind.partitions}
    if lives - {(rebind.topic, rebind.new_id)}:
        return "a partition of another topic id, or of another topic, is named"
    if len({start.partition for start in rebind.partitions}) != len(rebind.partitions):
        return "a partition is named twice"
    return None


def park_objection(state: FeedState, park: Park) -> str | None:
    """A lane is parked once."""
    if part_of(park.dataset, park.lane) in state.parked:
        return f"the lane of {park.lane} of dataset {park.dataset} is parked already"
    return None


def unpark_objection(state: FeedState, unpark: Unpark) -> str | None:
    """Something of the dataset must be parked."""
    lanes = [lane_in(part) for part in state.parked if dataset_of(part) == unpark.dataset]
    if not lanes:
        return f"dataset {unpark.dataset} is not parked"
    if unpark.lane and unpark.lane not in lanes:
        return f"the lane of {unpark.lane} of dataset {unpark.dataset} is not parked"
    return None


def replace_objection(state: FeedState, replace: Replace) -> str | None:
    """It replaces files of the window that it names.

    An entry that is not undone here may have been so when this was decided: its marker came since.
    """
    if replace.number > state.number:
        return f"it replaces files of entry {replace.number}, which is not decided yet"
    undone = state.undone.get(replace.number)
    if undone is not None and undone.window != replace.window:
        return f"entry {replace.number} is window {undone.window}, not {replace.window}"
    return None


def append_objection(state: FeedState, entry: Entry) -> str | None:
    """What is asked of an entry only before it is appended: it depends on what markers prove."""
    match entry.body:
        case Replace() as replace:
            return done_objection(state, replace)
        case Finalize() as finalize:
            return visible_objection(state, finalize)
        case Bind() | Claim() | Seal() | Start() | Window() | Gap() | Seek() | Rebind():
            return None
        case Park() | Unpark() | Replay() | Drop() | Compact() | Retire() | Generation():
            return None
        case _ as never:
            assert_never(never)


def visible_objection(state: FeedState, finalize: Finalize) -> str | None:
    """A day is complete only when all that was decided of its dataset is visible, and proven so."""
    for dataset in finalize.datasets:
        if has_undone(state, dataset):
            return f"something of {dataset} is decided and not done"
    return None


def done_objection(state: FeedState, replace: Replace) -> str | None:
    """Only files that are not done yet can be derived again, each group by itself."""
    undone = state.undone.get(replace.number)
    if undone is None:
        return f"entry {replace.number} is done"
    for group in replace.groups:
        if part_of(group.dataset) not in undone.parts:
            return f"the files of {group.dataset} in entry {replace.number} are done"
    return None
