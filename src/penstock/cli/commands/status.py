"""`penstock status`: how far each feed is. Reads only the lake; needs no running feed, no JVM."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import msgspec

from penstock.api.later import Later
from penstock.cli.commands.status_config import config_of
from penstock.cli.common import (
    chosen_feeds,
    configured,
    print_rows,
    reading_journal,
    surroundings,
)
from penstock.cli.output_streams import telling, unless_cut_off
from penstock.cli.status_rows import columns_of_output, duration, fitted, rows_of, wrapped
from penstock.errors import PenstockError
from penstock.model.exit_codes import worst
from penstock.model.plural import number_of
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.protocol.feed_book.feed_lease import last_beat
from penstock.status.completeness_text import complete_lines
from penstock.status.halted_feed import halt_of, lines_of
from penstock.status.learned_text import learned_rows
from penstock.status.snapshot import Ends, FeedSnapshot, ends_of, snapshot
from penstock.status.trouble_text import trouble_line
from penstock.status.ways_text import rest_lines, ways_rows

if TYPE_CHECKING:
    from penstock.cli.source_connection import AskedSource, AskedSources
    from penstock.model.debt import Debt
    from penstock.protocol.feed_book.feed_journal import FeedJournal

# Only --live asks a source, and a source may need Spark.
asking_sources: Callable[[LakeSpec], AbstractContextManager[AskedSources]] = Later(
    "penstock.cli.source_connection:asking_sources"
)
# Only --wide lists the lake.
debt_of_feed: Callable[[FeedJournal, FeedSpec], Debt] = Later(
    "penstock.care.feed_plan:debt_of_feed"
)
FEW_SCHEMAS = 6
OLD_LAG_S = 60.0  # an owner without a window in work asks its source every second or so


def run(chosen: argparse.Namespace) -> int:
    """Print a row per feed. A feed that cannot be read does not stop the others."""
    spec = configured(chosen)
    if chosen.config_of is not None:
        return config_of(spec, chosen.feeds, chosen.config_of, chosen.output)
    codes: list[int] = []
    tell = telling(codes)
    with asking_sources(spec) if chosen.live else nullcontext() as sources:
        feeds = chosen_feeds(spec, chosen.feeds)
        found = list(snapshots(spec, feeds, sources, tell, with_debt=chosen.wide))
    with unless_cut_off(codes):
        show(found, chosen.output, chosen.wide)
        if chosen.stats and chosen.output == "text":
            ways = [row for each in found for row in ways_rows(each.feed, each.ways)]
            print_rows(fitted(ways, "field", "dataset", "feed"), "text")
            learned = [row for each in found for row in learned_rows(each)]
            print_rows(fitted(learned, "name", "feed"), "text")
    return worst([*codes, *map(exit_code_of, found)])


def exit_code_of(found: FeedSnapshot) -> int:
    """That of the run, for a feed that cannot go on by itself: a script must not read green."""
    if found.halted is None or found.halted.accepted_by is not None:
        return 0
    return found.halted.exit_code


def snapshots(
    spec: LakeSpec,
    feeds: Iterable[FeedSpec],
    sources: AskedSources | None,
    tell: Callable[[str, PenstockError], None],
    *,
    with_debt: bool = False,
) -> Iterator[FeedSnapshot]:
    """How far these feeds are. A feed that cannot be read is reported."""
    for feed in feeds:
        try:
            live = None if sources is None else live_ends(sources.of(feed))
            found = snapshot_of(spec, feed, live)
            if with_debt:
                debt = debt_of_feed(reading_journal(spec, feed.name), feed)
                found = msgspec.structs.replace(found, compaction_debt=debt)
            yield found
        except PenstockError as error:
            tell(feed.name, error)


def show(found: Sequence[FeedSnapshot], output: str, wide: bool = False) -> None:
    """Print the feeds. As text, halts and parked datasets have lines of their own."""
    if output == "json":
        for each in found:
            print(json.dumps(msgspec.to_builtins(each, str_keys=True)))
        return
    print_rows(rows_of(found, wide), "text")
    columns = columns_of_output(os.environ)
    for each in found:
        for sentence in sentences_of(each):
            for line in wrapped(f"{each.feed}: {sentence}", columns):
                print(line)


def sentences_of(found: FeedSnapshot) -> Iterator[str]:
    """What the table does not say of a feed."""
    if found.trouble is not None:
        yield trouble_line(found.trouble)
    if found.owner_state == "running" and (found.as_of_age_s or 0.0) > OLD_LAG_S:
        yield (
            f"lag is that of {duration(found.as_of_age_s)} ago: since then its source has not "
            "answered the owner, or one window takes long; `penstock status --live` asks now"
        )
    if found.undone:
        yield f"{number_of(found.undone, 'window')} decided, not yet published"
    if found.schemas:
        yield schemas_of(found)
    for dataset, why in sorted(found.parked.items()):
        how = "stopped" if dataset in found.stopped else "parked"
        yield f"{dataset} is {how}: {why}"
    yield from rest_lines(found.ways)
    yield from complete_lines(found.final, found.late)
    if found.halted is not None:
        yield from lines_of(found.halted)
    for topic in found.missing_topics:
        yield f"topic {topic!r} does not exist, or the owner may not see it"


def live_ends(source: AskedSource) -> Ends:
    """Where the logs of a source end now."""
    return Ends(
        {
            topic.topic: {p: offsets.latest for p, offsets in topic.partitions.items()}
            for topic in source.look().topics
        },
        surroundings().timestamp(),
    )


def snapshot_of(spec: LakeSpec, feed: FeedSpec, live: Ends | None = None) -> FeedSnapshot:
    """How far a feed is."""
    journal = reading_journal(spec, feed.name)
    beat = last_beat(journal.store, journal.layout)
    now_s = surroundings().now()
    state = journal.open().state
    ends = live or ends_of(beat)
    halted = halt_of(journal, state)
    return snapshot(feed.name, state, beat, ends, now_s, halted=halted, topics=feed.topics)


def schemas_of(found: FeedSnapshot) -> str:
    """The schema version of each dataset, for the first few datasets."""
    shown = [f"{name} v{version}" for name, version in list(found.schemas.items())[:FEW_SCHEMAS]]
    more = len(found.schemas) - len(shown)
    return ", ".join(shown) + (f" and {number_of(more, 'more dataset')}" if more else "")
