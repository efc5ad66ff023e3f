"""The words of `penstock where`."""

import argparse
from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_config, with_output

EXAMPLES = """\
example:
  penstock where events events/0/1200
  penstock where events "$(penstock files events/page_view | head -1)"

exit codes: 0 it is known what became of it, 1 it is not, 4 it should be there and is not
"""


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "where",
        help="show where one record went, or where the rows of a file came from",
        description="Of a record: its files and rows, or its place in the quarantine; or that it "
        "was filtered, given up, retired or not read yet; with window, entry and time. Of a file: "
        "its ranges, window and entry, and whether readers see it. Only reads.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("feed", metavar="FEED")
    command.add_argument(
        "what",
        metavar="TOPIC/PARTITION/OFFSET|FILE",
        help="a record by its position; or a file by its key in the lake, its path or its URI",
    )
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.where:run"))
