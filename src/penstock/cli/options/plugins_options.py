"""The words of `penstock plugins`."""

from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_output


def add_to(commands: Any) -> None:
    """The words of this command; it needs no configuration."""
    command = commands.add_parser(
        "plugins",
        help="list what is behind each door for plug-ins",
        description="Every door for plug-ins with what is behind it: built in, installed by "
        "another package, with a missing extra, or broken. Imports all of it.",
        epilog="example: penstock plugins --output json",
    )
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.plugins:run"))
