"""`penstock init`: a commented configuration to begin with."""

import argparse
from pathlib import Path
from typing import Any

from penstock.cli.errors import UsageMistake
from penstock.config.example import example_text


def add_to(commands: Any) -> None:
    """The words of this command."""
    command = commands.add_parser(
        "init",
        help="write a commented penstock.yaml",
        description="Write a commented configuration; refuses to overwrite one.",
        epilog="example: penstock init my.yaml",
    )
    command.add_argument("file", nargs="?", type=Path, default=Path("penstock.yaml"))
    command.set_defaults(command=run)


def run(chosen: argparse.Namespace) -> int:
    """Write the file, if nothing is there."""
    try:
        with chosen.file.open("x") as file:
            file.write(example_text())
    except FileExistsError as error:
        raise UsageMistake(
            f"{chosen.file} is there already.", "Choose another name, or move it away."
        ) from error
    except OSError as error:
        raise UsageMistake(f"{chosen.file} cannot be written: {error.strerror}.", "") from error
    print(f"wrote {chosen.file}; edit it, then: penstock run -c {chosen.file} --once")
    return 0
