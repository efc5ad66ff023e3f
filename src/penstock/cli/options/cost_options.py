"""The words of `penstock cost`."""

import argparse
from typing import Any

from penstock.api.later import Later
from penstock.cli.options.audit_options import since
from penstock.cli.options.shared_options import with_config, with_output

EXAMPLES = """\
example:
  penstock cost --by team --since 30d
"""


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "cost",
        help="show what feeds have cost",
        description="Seconds of tasks, bytes, requests and files of all windows, and money by the "
        "`prices` of the configuration. Only reads the lake. Windows that were written before "
        "costs were recorded are counted as unknown, not as 0.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("feeds", nargs="*", metavar="FEED")
    command.add_argument(
        "--by",
        choices=("feed", "topic", "dataset", "team"),
        default="feed",
        help="what each line is about; default: feed",
    )
    command.add_argument(
        "--since",
        type=since,
        metavar="TIME",
        help="only what was decided since, such as 2h, 30d or 2026-11-01T00:00:00Z",
    )
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.cost:run"))
