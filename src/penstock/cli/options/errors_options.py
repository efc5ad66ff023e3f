"""The words of `penstock errors`."""

import argparse
from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import (
    with_approval,
    with_commands,
    with_config,
    with_output,
)

SHOWN_RECORDS = 20


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "errors",
        help="show, export, replay or drop quarantined records; accept a window with many of them",
        description="The records that could not be delivered, with their raw bytes and reasons.",
        epilog="example: penstock errors list events",
    )
    acts = with_commands(command, "acts", "ACT")
    add_list(acts)
    add_show(acts)
    add_accept(acts)
    add_export(acts)
    add_replay(acts)
    add_drop(acts)


def add_list(acts: Any) -> None:
    """Add `list` to the parser."""
    act = acts.add_parser(
        "list",
        help="group the quarantined records by what is wrong with them",
        description="One line per fingerprint: how many records, why, the first and the last of "
        "them, and a sample of the raw bytes.",
        epilog="example: penstock errors list events --output json",
    )
    act.add_argument("feed", metavar="FEED")
    act.add_argument(
        "--halted",
        action="store_true",
        help="show what would be quarantined by the window at which the feed has halted",
    )
    with_config(act)
    with_output(act)
    act.set_defaults(command=Later("penstock.cli.commands.errors_list:run_list"))


def add_show(acts: Any) -> None:
    """Add `show` to the parser."""
    act = acts.add_parser(
        "show",
        help="show complete quarantined records",
        description="Show the records of one fingerprint, or one record by its position "
        "topic/partition/offset. Bytes that are not printable UTF-8 are escaped; --output json "
        "also has them exactly, in base64.",
        epilog="example: penstock errors show events events/0/1234",
    )
    act.add_argument("feed", metavar="FEED")
    act.add_argument("id", metavar="ID", help="a fingerprint, or topic/partition/offset")
    act.add_argument(
        "--limit",
        type=positive,
        default=SHOWN_RECORDS,
        metavar="N",
        help=f"the maximum number of records (default: {SHOWN_RECORDS})",
    )
    with_config(act)
    with_output(act)
    act.set_defaults(command=Later("penstock.cli.commands.errors_list:run_show"))


def add_accept(acts: Any) -> None:
    """Add `accept` to the parser."""
    act = acts.add_parser(
        "accept",
        help="accept the next window, or a stopped dataset",
        description="A window with more broken records than quarantine.max_ratio allows halts its "
        "feed. This accepts the one next window; its broken records go to the quarantine. With "
        "--dataset: a dataset goes on that stopped because of records whose schema cannot be "
        "merged with its own. All that was held back is published; those records stay in the "
        "quarantine.",
        epilog='example: penstock errors accept events --reason "old client, fixed on Monday"',
    )
    act.add_argument("feed", metavar="FEED")
    act.add_argument("--dataset", metavar="NAME", help="accept this stopped dataset instead")
    act.add_argument("--reason", required=True, metavar="TEXT", help="why; the reason is recorded")
    act.add_argument("--author", metavar="NAME", help="who decides (default: the login name)")
    with_config(act)
    with_output(act)
    act.set_defaults(command=Later("penstock.cli.commands.errors_list:run_accept"))


def add_export(acts: Any) -> None:
    """Add `export` to the parser."""
    act = acts.add_parser(
        "export",
        help="write quarantined records to a file that can be edited",
        description="Write the records that wait in the quarantine to a new file, one JSON object "
        "per line: position, reason, key, headers and value. Bytes that are not UTF-8 are in "
        "base64. Correct the values and deliver them with `penstock errors replay --fixed`. "
        "Nothing in the lake is changed.",
        epilog="example: penstock errors export events --to broken.jsonl",
    )
    act.add_argument("feed", metavar="FEED")
    act.add_argument("--to", required=True, metavar="FILE", help="a new file")
    act.add_argument("--fingerprint", metavar="F", help="only records of this group")
    act.add_argument(
        "--dataset", metavar="NAME", help="only records for this dataset; - for records without one"
    )
    with_config(act)
    with_output(act)
    act.set_defaults(command=Later("penstock.cli.commands.errors_export:run_export"))


def add_replay(acts: Any) -> None:
    """Add `replay` to the parser."""
    act = acts.add_parser(
        "replay",
        help="decode quarantined records again, and deliver those that are valid now",
        description="Decode quarantined records with the present configuration, from the raw "
        "bytes in the quarantine; Kafka is not read. Each record that can be delivered is "
        "delivered exactly once and leaves the quarantine; the others stay as they are. May run "
        "while `penstock run` runs, and again after it was killed. With --fixed, deliver corrected "
        "records of a file that `penstock errors export` wrote: under the same positions, each at "
        "most once, and only with --execute and --reason. The quarantine keeps what came.",
        epilog="example: penstock errors replay events --fingerprint 1f0c2ab394de",
    )
    act.add_argument("feed", metavar="FEED")
    act.add_argument("--fingerprint", metavar="F", help="only records of this group")
    act.add_argument(
        "--dataset", metavar="NAME", help="only records for this dataset; - for records without one"
    )
    act.add_argument("--fixed", metavar="FILE", help="deliver the corrected records of this file")
    act.add_argument("--execute", action="store_true", help="with --fixed: do it")
    act.add_argument(
        "--reason", default="", metavar="TEXT", help="with --fixed: why; the reason is recorded"
    )
    act.add_argument("--author", metavar="NAME", help="who decides (default: the login name)")
    with_config(act)
    with_output(act)
    act.set_defaults(command=Later("penstock.cli.commands.errors_replay:run_replay"))


def add_drop(acts: Any) -> None:
    """Add `drop` to the parser."""
    act = acts.add_parser(
        "drop",
        help="give up quarantined records",
        description="Give up the records of one fingerprint, or one record by its position "
        "topic/partition/offset. Prints how many, and does it only with --execute. They stay "
        "accounted for: every audit lists them with who gave them up and why. Their raw bytes "
        "stay in the files of the quarantine.",
        epilog='example: penstock errors drop events 1f0c2ab394de --reason "load test" --execute',
    )
    act.add_argument("feed", metavar="FEED")
    act.add_argument("id", metavar="ID", help="a fingerprint, or topic/partition/offset")
    act.add_argument(
        "--topic-id",
        metavar="T",
        help="only records of this topic id, if the topic was deleted and created again",
    )
    with_approval(act)
    with_config(act)
    with_output(act)
    act.set_defaults(command=Later("penstock.cli.commands.errors_replay:run_drop"))


def positive(word: str) -> int:
    """A number of records."""
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number
