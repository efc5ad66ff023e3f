"""`penstock errors` and its subcommands."""

from typing import Any

from penstock.cli.commands.errors_export import add_export
from penstock.cli.commands.errors_list import add_accept, add_list, add_show
from penstock.cli.commands.errors_replay import add_drop, add_replay


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "errors",
        help="show, export, replay or drop quarantined records; accept a window with many of them",
        description="The records that could not be delivered, with their raw bytes and reasons.",
        epilog="example: penstock errors list events",
    )
    acts = command.add_subparsers(title="acts", required=True, metavar="ACT")
    add_list(acts)
    add_show(acts)
    add_accept(acts)
    add_export(acts)
    add_replay(acts)
    add_drop(acts)
