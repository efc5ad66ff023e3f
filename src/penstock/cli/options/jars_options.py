"""The words of `penstock jars`, which `spark/jars.py` has for the set-up, too."""

from typing import Any

from penstock.spark.jars import add_acts


def add_to(commands: Any) -> None:
    """Add this command to the parser. It needs no configuration."""
    add_acts(commands.add_parser("jars", help="list or fetch the pinned jars"), "penstock jars")
