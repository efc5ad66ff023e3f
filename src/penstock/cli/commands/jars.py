"""`penstock jars`: the pinned jars, for sites without a network."""

from typing import Any

from penstock.spark.jars import add_acts


def add_to(commands: Any) -> None:
    """The words of this command; it needs no configuration, since jars belong to no lake."""
    add_acts(commands.add_parser("jars", help="list or fetch the pinned jars"), "penstock jars")
