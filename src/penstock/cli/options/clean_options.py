"""The words of `penstock clean`."""

from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_config, with_output


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "clean",
        help="show or remove what nobody needs any more",
        description="Runs that died leave staged files, and sometimes manifests or corrected "
        "records that no entry of the journal names. They are invisible and never needed again. A "
        "run removes them by itself, after it has claimed a feed and once an hour. This command "
        "shows them by kind, and removes them with --execute; it also looks for what was left "
        "long ago. It may run at any time, also beside a run.",
        epilog="example: penstock clean events --execute",
    )
    command.add_argument("feed", metavar="FEED")
    command.add_argument("--execute", action="store_true", help="remove them")
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.clean:run"))
