"""The words of `penstock unpark`."""

from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_config, with_output


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "unpark",
        help="try a parked dataset again now",
        description="A dataset whose files cannot be published is parked: its records are decided "
        "and safe, but not visible. A run tries it again by itself, with growing pauses. This "
        "command lets the run try it within a few seconds, as often as if it had never failed. It "
        "is a journal entry with your name, and may be used beside a run.",
        epilog='example: penstock unpark events orders --reason "the disk has space again"',
    )
    command.add_argument("feed", metavar="FEED")
    command.add_argument("dataset", metavar="DATASET")
    command.add_argument("--reason", default="", metavar="TEXT", help="why, for the journal")
    command.add_argument("--author", metavar="NAME", help="who decides (default: the login name)")
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.unpark:run"))
