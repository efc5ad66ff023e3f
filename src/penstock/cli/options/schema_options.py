"""The words of `penstock schema`."""

import argparse
from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_commands, with_config, with_output
from penstock.datapath.schemas.ddl import DIALECTS


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "schema",
        help="show the columns of a dataset, and how they changed",
        description="Every dataset has a numbered schema, which only grows: fields are added "
        "or become nullable, and no column is removed or gets another type.",
        epilog="example: penstock schema show events/page_view",
    )
    acts = with_commands(command, "acts", "ACT")
    _add_show(acts)
    _add_diff(acts)
    _add_history(acts)
    _add_conflicts(acts)


def _add_show(acts: Any) -> None:
    act = acts.add_parser(
        "show",
        help="show the columns of a dataset",
        description="The columns of the newest version, or of another one. A field whose column "
        "has another name is shown with both. --ddl prints a statement that makes a table of the "
        "dataset's directory.",
        epilog="example: penstock schema show events/page_view --ddl trino",
    )
    _with_dataset(act)
    act.add_argument("--version", type=int, metavar="N", help="this version instead of the newest")
    act.add_argument("--ddl", choices=DIALECTS, help="print a statement that creates a table")
    act.set_defaults(command=Later("penstock.cli.commands.schema:run_show"))


def _add_diff(acts: Any) -> None:
    act = acts.add_parser(
        "diff",
        help="show what has changed between two versions",
        description="One line per column that is new, that became nullable or required, or whose "
        "times have another unit. Without version numbers, from the second newest version to the "
        "newest.",
        epilog="example: penstock schema diff events/page_view 1 3",
    )
    _with_dataset(act)
    act.add_argument(
        "versions",
        nargs="*",
        type=int,
        metavar="N",
        help="one or two versions",
    )
    act.set_defaults(command=Later("penstock.cli.commands.schema:run_diff"))


def _add_history(acts: Any) -> None:
    act = acts.add_parser(
        "history",
        help="show all versions of a dataset's schema",
        description="One line per version: its number of columns, and its changes.",
        epilog="example: penstock schema history events/page_view",
    )
    _with_dataset(act)
    act.set_defaults(command=Later("penstock.cli.commands.schema:run_history"))


def _add_conflicts(acts: Any) -> None:
    act = acts.add_parser(
        "conflicts",
        help="show fields whose values did not fit, and what would cure it",
        description="One line per field with values that did not fit its column and are in "
        "`_rest`: the type of the column, what was found, in how many records, the position of the "
        "first and a sample. Below it, the configuration that gives the field one column.",
        epilog="example: penstock schema conflicts events/order",
    )
    act.add_argument("what", metavar="FEED[/DATASET]")
    with_config(act)
    with_output(act)
    act.set_defaults(command=Later("penstock.cli.commands.schema_conflicts:run_conflicts"))


def _with_dataset(act: argparse.ArgumentParser) -> None:
    act.add_argument("what", metavar="FEED[/DATASET]")
    with_config(act)
    with_output(act)
