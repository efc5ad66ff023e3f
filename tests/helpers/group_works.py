"""Parts of a decided entry, as acts are handed them: with files that wait, inputs, and days."""

from penstock.api.store import Store
from penstock.model.entries import Compact, SealedEntry
from penstock.model.lanes import lanes_of
from penstock.model.manifest import Content, Group
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.model.steps import Steps
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.publish.group_work import GroupWork
from tests.helpers.journals import next_entry

DAY = "day=2026-11-15"
SEALED = SealedEntry(
    next_entry(FeedState(), Compact(window="1-x1", groups=(), content=Content())), "0" * 64
)


def staged(store: Store, final: str, data: bytes = b"rows") -> StagedHandle:
    """A file that waits to be published."""
    writer = store.open_staged(final, StagingSpot("staging", "1-x1", final.replace("/", "-")))
    writer.write(data)
    return writer.finish()


def work_on(
    store: Store,
    dataset: str,
    steps: Steps,
    files: int = 2,
    inputs: int = 2,
    below: str = "",
) -> GroupWork:
    """A group with staged files, with inputs that are visible, and a day that is complete."""
    handles = tuple(staged(store, f"{dataset}/{below}new-{n}") for n in range(files))
    names = tuple(f"{dataset}/old-{n}" for n in range(inputs))
    for name in names:
        store.create(name, b"old")
    lane = lanes_of(steps)[0]
    group, complete = Group(dataset, files, files, 8, steps), (f"{dataset}/{DAY}",)
    return GroupWork(SEALED, group, lane, handles, names, (1,) * files, complete)
