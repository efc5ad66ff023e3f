"""The words of `penstock offsets`."""

import argparse
from typing import Any

from penstock.api.later import Later
from penstock.care.reset_targets import Target
from penstock.cli.offset_arguments import (
    ago,
    at_time,
    from_file,
    shift_by,
    to_group,
    to_offset,
    topic_choice,
)
from penstock.cli.options.shared_options import (
    with_approval,
    with_commands,
    with_config,
    with_output,
)


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "offsets",
        help="show or move the offsets of a feed",
        description="Show the watermark of each partition, or move it.",
        epilog="example: penstock offsets show events",
    )
    verbs = with_commands(command, "verbs", "VERB")
    _add_show(verbs)
    _add_reset(verbs)
    _add_accept_gap(verbs)
    _add_rebind(verbs)


def _add_show(verbs: Any) -> None:
    verb = verbs.add_parser(
        "show",
        help="show watermarks and what Kafka has",
        description="Show start, watermark, log start, log end, lag and last window per partition.",
        epilog="example: penstock offsets show events --output json",
    )
    _with_feed(verb, Later("penstock.cli.commands.offsets:show"))


def _add_reset(verbs: Any) -> None:
    verb = verbs.add_parser(
        "reset",
        help="move watermarks over offsets that were never delivered",
        description="Set the next offset to read. Prints what would be skipped or read again, "
        "and does it only with --execute. Targets outside the log are moved to its nearest end.",
        epilog="example: penstock offsets reset events --topic events:0,1 --to-latest "
        '--reason "bad deploy" --execute',
    )
    _with_feed(verb, Later("penstock.cli.commands.offsets:reset"))
    verb.add_argument(
        "--topic",
        action="append",
        type=topic_choice,
        default=[],
        metavar="T[:0,1]",
        help="only this topic, or these partitions of it; may be given several times",
    )
    to = verb.add_mutually_exclusive_group(required=True)
    earliest, latest = Target("earliest"), Target("latest")
    to.add_argument("--to-earliest", dest="target", action="store_const", const=earliest)
    to.add_argument("--to-latest", dest="target", action="store_const", const=latest)
    to.add_argument("--to-datetime", dest="target", type=at_time, metavar="TIME",
                    help="first record at or after it, such as 2026-11-01T00:00:00Z")  # fmt: skip
    to.add_argument("--by-duration", dest="target", type=ago, metavar="DURATION",
                    help="first record of the last 30s, 5m, 1h, 2d or PT1H30M")  # fmt: skip
    to.add_argument("--to-offset", dest="target", type=to_offset, metavar="N")
    to.add_argument("--shift-by", dest="target", type=shift_by, metavar="N",
                    help="from the watermark; may be negative")  # fmt: skip
    to.add_argument("--to-group", dest="target", type=to_group, metavar="NAME",
                    help="the committed offsets of a consumer group")  # fmt: skip
    to.add_argument("--from-file", dest="target", type=from_file, metavar="FILE",
                    help="a CSV file with topic,partition,offset")  # fmt: skip
    with_approval(verb)


def _add_accept_gap(verbs: Any) -> None:
    verb = verbs.add_parser(
        "accept-gap",
        help="give up records that expired before they were read",
        description="Show the ranges that Kafka no longer has, and accept their loss with "
        "--execute. The feed then goes on at the start of the log.",
        epilog='example: penstock offsets accept-gap events --reason "retention" --execute',
    )
    _with_feed(verb, Later("penstock.cli.commands.offsets:accept_gap"))
    with_approval(verb)


def _add_rebind(verbs: Any) -> None:
    verb = verbs.add_parser(
        "rebind",
        help="accept a topic that was recreated on purpose",
        description="Bind the feed to the topic's new id. Reading starts at its earliest offset "
        "or at its latest one. What was delivered under the old id stays.",
        epilog='example: penstock offsets rebind events --topic events --reason "moved" --execute',
    )
    _with_feed(verb, Later("penstock.cli.commands.offsets:rebind_topic"))
    verb.add_argument("--topic", required=True, metavar="T")
    to = verb.add_mutually_exclusive_group()
    to.add_argument("--to-earliest", dest="latest", action="store_false", help="the default")
    to.add_argument("--to-latest", dest="latest", action="store_true")
    verb.set_defaults(latest=False)  # else argparse takes the default of the first flag: true
    with_approval(verb)


def _with_feed(verb: argparse.ArgumentParser, command: Later) -> None:
    verb.add_argument("feed", metavar="FEED")
    with_config(verb)
    with_output(verb)
    verb.set_defaults(command=command)
