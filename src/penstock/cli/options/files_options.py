"""The words of `penstock files`."""

from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_config, with_output


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "files",
        help="list the committed files of a feed",
        description="The files that are decided and visible, one per line.",
        epilog="example: penstock files events/page_view",
    )
    command.add_argument("what", metavar="FEED[/DATASET]")
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.files:run"))
