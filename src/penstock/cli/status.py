"""`penstock status`: how far each feed is. Reads the lake; needs no running instance and no JVM."""

import argparse
from collections.abc import Iterator
from typing import Any

from penstock.cli.common import (
    chosen_feeds,
    configured,
    print_rows,
    reading_journal,
    with_config,
    with_output,
)
from penstock.journal.state import JournalState


def add_to(commands: Any) -> None:
    """The words of this command."""
    command = commands.add_parser(
        "status",
        help="show how far each feed is",
        description="Watermarks, windows, undone steps and parked datasets of each feed.",
        epilog="example: penstock status events --output json",
    )
    command.add_argument("feeds", nargs="*", metavar="FEED")
    with_config(command)
    with_output(command)
    command.set_defaults(command=run)


def run(chosen: argparse.Namespace) -> int:
    """Print a row per partition."""
    spec = configured(chosen)
    rows = [
        row
        for feed in chosen_feeds(spec, chosen.feeds)
        for row in rows_of(feed.name, reading_journal(spec, feed.name).open().state)
    ]
    print_rows(rows, chosen.output)
    return 0


def rows_of(feed: str, state: JournalState) -> Iterator[dict[str, object]]:
    """What the journal says of a feed, partition by partition."""
    for topic, topic_id in sorted(state.topics.items()):
        for partition, known in sorted(state.partitions.get(topic_id, {}).items()):
            yield {
                "feed": feed,
                "topic": topic,
                "partition": partition,
                "watermark": known.watermark,
                "windows": state.windows,
                "epoch": state.epoch,
                "undone": len(state.undone),
                "parked": ",".join(sorted(state.parked)) or "-",
            }
