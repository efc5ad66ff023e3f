"""`penstock run`: the feeds of the configuration in one Spark application."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from penstock.cli.common import chosen_feeds, configured, local_store, surroundings, with_config
from penstock.config.clients import reveal_kafka, reveal_spark
from penstock.config.places import jar_cache
from penstock.config.secrets import Secret
from penstock.engine.feed import FeedTools
from penstock.engine.gateway import kafka_java_options
from penstock.engine.jars import CONNECTOR, jar_paths
from penstock.engine.run import Runner
from penstock.engine.session import open_session
from penstock.model.spec import LakeSpec


def add_to(commands: Any) -> None:
    """The words of this command."""
    command = commands.add_parser(
        "run",
        help="deliver the feeds",
        description="Run the feeds of the configuration, or those that are named.",
        epilog="example: penstock run events --once",
    )
    command.add_argument("feeds", nargs="*", metavar="FEED")
    command.add_argument(
        "--once", action="store_true", help="stop when what was there at the start is delivered"
    )
    with_config(command)
    command.set_defaults(command=run)


def run(chosen: argparse.Namespace) -> int:
    """Deliver until stopped; a second signal ends at once, which is always safe."""
    spec = configured(chosen)
    feeds = chosen_feeds(spec, chosen.feeds)
    is_stopping = stop_on_signals()
    kafka = revealed(reveal_kafka(spec.kafka, os.environ))
    settings = revealed(reveal_spark(spec.spark, os.environ))
    spark = open_session("run", settings, connector_jars(spec), kafka_java_options(kafka))
    try:
        tools = FeedTools(spark, kafka, local_store(spec), surroundings())
        return Runner(feeds, tools, teller(), is_stopping, once=chosen.once).run()
    finally:
        spark.stop()


def revealed(secrets: Mapping[str, Secret]) -> dict[str, str]:
    """Secrets in the clear, only here and only for the clients that need them."""
    return {key: value.reveal() for key, value in secrets.items()}


def connector_jars(spec: LakeSpec) -> list[Any]:
    """Our pinned connector, unless the user's cluster brings its own."""
    if "spark.jars.packages" in spec.spark or "spark.jars" in spec.spark:
        return []
    return list(jar_paths(CONNECTOR, jar_cache()))


def teller() -> Callable[[str, str], None]:
    """How progress is told: a line for people on a terminal, a JSON line otherwise."""
    if sys.stderr.isatty():
        return lambda feed, sentence: print(f"{feed}: {sentence}", file=sys.stderr, flush=True)
    return lambda feed, sentence: print(
        json.dumps({"feed": feed, "message": sentence}), file=sys.stderr, flush=True
    )


def stop_on_signals() -> Callable[[], bool]:
    """Finish the current window on the first signal."""
    asked: list[int] = []

    def note(number: int, _frame: object) -> None:
        asked.append(number)
        signal.signal(number, signal.SIG_DFL)

    signal.signal(signal.SIGTERM, note)
    signal.signal(signal.SIGINT, note)
    return lambda: bool(asked)
