"""`penstock jars`: list and fetch the pinned jars."""

from typing import Any

from penstock.spark.jars import add_acts


def add_to(commands: Any) -> None:
    """Add this command to the parser. It needs no configuration."""
    add_acts(commands.add_parser("jars", help="list or fetch the pinned jars"), "penstock jars")
