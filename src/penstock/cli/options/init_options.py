"""The words of `penstock init`."""

from pathlib import Path
from typing import Any

from penstock.api.later import Later


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "init",
        help="write a commented penstock.yaml",
        description="Write a commented configuration. An existing file is not overwritten.",
        epilog="example: penstock init --backup my.yaml",
    )
    command.add_argument("file", nargs="?", type=Path, default=Path("penstock.yaml"))
    command.add_argument(
        "--backup",
        action="store_true",
        help="with a second feed, which keeps every record as it came",
    )
    command.set_defaults(command=Later("penstock.cli.commands.init:run"))
