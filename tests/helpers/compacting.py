"""What tests of compaction share: `penstock compact` on a feed whose records are a list."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.audit.shallow import audit
from penstock.care.compact_feed import (
    CompactedDirectory,
    CompactionTools,
    compact_directories,
)
from penstock.care.compaction_plan import CompactionPolicy
from penstock.care.feed_plan import planned
from penstock.errors import EntryRefused
from penstock.model.spec import FeedSpec, WindowSpec
from penstock.ports.store.list_keys import list_keys
from penstock.runtime.parallel import ParallelMap, in_this_process
from tests.helpers.files_by_others import READABLE
from tests.helpers.list_story import FEED, Story

SMALL = msgspec.structs.replace(FEED, window=WindowSpec(max_records=4))
ANY = CompactionPolicy(target_bytes=256_000_000, min_files=2)


def compacted(
    story: Story,
    feed: FeedSpec = SMALL,
    policy: CompactionPolicy = ANY,
    parallel: ParallelMap = in_this_process,
    files_of_job: int = 1,
) -> list[CompactedDirectory]:
    """`penstock compact feed`."""

    @contextmanager
    def opened() -> Iterator[ParallelMap]:
        yield parallel

    journal = story.journal()
    fold = journal.open(deep=True)
    tools = CompactionTools(feed, story.clock.around(), "ann", policy, opened, files_of_job)
    plans = list(planned(journal, fold, policy))
    done = list(compact_directories(journal, fold, plans, tools))
    for each in done:
        if each.refused is not None and not isinstance(each.refused, EntryRefused):
            raise each.refused
    return done


def data_files(story: Story) -> list[str]:
    return [key for key in list_keys(story.store, "feed") if key.endswith(READABLE)]


def staged(story: Story) -> list[str]:
    return list(list_keys(story.store, "_penstock/feed/staging"))


def assert_proven(story: Story) -> None:
    assert audit(story.journal()).differences == ()
    tools = DeepTools(in_this_process, None, lambda: 0.0)
    assert deep_audit(story.journal(), DeepSpec(), tools).differences == ()
