"""Options that several commands have, and groups of commands."""

import argparse
import sys
from pathlib import Path
from typing import Any

BAD_USAGE = 2


class Alone:
    """A group of commands that was called without one of them: it lists them."""

    def __init__(self, group: argparse.ArgumentParser) -> None:
        self._group = group

    def get(self) -> "Alone":
        """Itself: there is nothing to import."""
        return self

    def __call__(self, _: argparse.Namespace) -> int:
        """Print the help where mistakes are printed: nothing was done."""
        self._group.print_help(sys.stderr)
        return BAD_USAGE


def with_commands(group: argparse.ArgumentParser, title: str, metavar: str) -> Any:
    """The place for the commands of a group; the group alone lists them."""
    group.set_defaults(command=Alone(group))
    return group.add_subparsers(title=title, metavar=metavar)


def with_config(command: argparse.ArgumentParser) -> None:
    """Add the option for the configuration file."""
    command.add_argument(
        "-c",
        "--config",
        type=Path,
        default=Path("penstock.yaml"),
        metavar="FILE",
        help="the configuration (default: ./penstock.yaml)",
    )


def with_output(command: argparse.ArgumentParser) -> None:
    """Add the option for text or JSON."""
    command.add_argument(
        "--output",
        choices=("text", "json"),
        default="text",
        help="the form of the output (default: text)",
    )


def with_approval(command: argparse.ArgumentParser) -> None:
    """Add what a command needs that gives up, moves or removes data: it is a dry run without."""
    command.add_argument(
        "--execute",
        action="store_true",
        help="do it; without this option the command only shows what it would do",
    )
    command.add_argument(
        "--reason",
        default="",
        metavar="TEXT",
        help="recorded in the journal; required with --execute",
    )
    command.add_argument("--author", default="", metavar="NAME", help="default: your login name")
