"""`penstock run`: the feeds of the configuration in one Spark application."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from penstock.api.source import SourceTools
from penstock.cli.common import chosen_feeds, configured, lake_store, surroundings, with_config
from penstock.cli.run_output import Ticker, teller
from penstock.config.clients import reveal_kafka, reveal_registry, reveal_spark
from penstock.config.convert_section import reveal_keys
from penstock.config.places import jar_cache
from penstock.config.secrets import Secret, has_reference
from penstock.feeds.runner import Runner, RunSpec
from penstock.feeds.running_feed import FeedTools
from penstock.model.spec import LakeSpec
from penstock.ports.registry.registry import Registry
from penstock.ports.registry.registry_http import http_fetch
from penstock.ports.source.kafka.kafka_source import KafkaSource
from penstock.spark.gateway import kafka_java_options
from penstock.spark.jars import CONNECTOR, jar_paths
from penstock.spark.session import StartingSession, open_session

PROBE = "_penstock/probe"
GRACE_S = 10.0  # what the current window gets after a signal before its job is cancelled
AGAIN_S = 1.0  # then jobs are cancelled so often: the first time may fall between two of them


def add_to(commands: Any) -> None:
    """The words of this command."""
    command = commands.add_parser(
        "run",
        help="deliver the feeds",
        description="Run the feeds of the configuration, or those that are named. A feed that "
        "another live instance owns is waited for. Ctrl-C and SIGTERM finish the current window, "
        f"or abandon it after {GRACE_S:.0f} s, and end with 0.",
        epilog="example: penstock run events --once",
    )
    command.add_argument("feeds", nargs="*", metavar="FEED")
    command.add_argument(
        "--once", action="store_true", help="stop when what was there at the start is delivered"
    )
    held = command.add_mutually_exclusive_group()
    held.add_argument(
        "--no-wait", action="store_true", help="end with 75 when another instance owns a feed"
    )
    held.add_argument(
        "--take-over", action="store_true", help="take feeds from whoever owns them; it will stop"
    )
    with_config(command)
    command.set_defaults(command=run)


def run(chosen: argparse.Namespace) -> int:
    """Deliver until stopped; a second signal ends at once, which is always safe."""
    spec = configured(chosen)
    feeds = chosen_feeds(spec, chosen.feeds)
    kafka = revealed(reveal_kafka(spec.kafka, os.environ))
    keys = reveal_keys(feeds, os.environ)
    session = starting_session(spec, "run")
    over = threading.Event()
    is_stopping = stop_on_signals(session.cancel_jobs, over)
    around = surroundings()
    how = RunSpec(once=chosen.once, wait=not chosen.no_wait, take_over=chosen.take_over)
    try:
        store = lake_store(spec)
        store.probe(PROBE)  # a store that lies would take every proof with it
        source_tools = SourceTools(session.get, kafka)
        tools = FeedTools(
            open_source=lambda feed: KafkaSource(feed, source_tools),
            store=store,
            around=around,
            registry=registry_of(spec),
            keys=keys,
            wait_until_ready=session.get,
        )
        runner = Runner(feeds, tools, teller(os.environ), is_stopping, how)
        with Ticker(runner, around.tick, sys.stderr):
            return runner.run()
    finally:
        over.set()
        session.stop()


def revealed(secrets: Mapping[str, Secret]) -> dict[str, str]:
    """Secrets in the clear, only here and only for the clients that need them."""
    return {key: value.reveal() for key, value in secrets.items()}


def starting_session(spec: LakeSpec, name: str) -> StartingSession:
    """Spark, on its way up; whoever needs it waits."""
    kafka = revealed(reveal_kafka(spec.kafka, os.environ))
    settings = revealed(reveal_spark(spec.spark, os.environ))
    private = {key for key, value in spec.spark.items() if has_reference(value)}
    jars, java = connector_jars(spec), kafka_java_options(kafka)
    return StartingSession(lambda: open_session(name, settings, jars, java, private))


def registry_of(spec: LakeSpec) -> Registry | None:
    """The schema registry, if there is one."""
    found = reveal_registry(spec.registry, os.environ)
    return None if found is None else Registry(found.url, http_fetch(found))


def connector_jars(spec: LakeSpec) -> list[Any]:
    """Our pinned connector, unless the user's cluster brings its own."""
    if "spark.jars.packages" in spec.spark or "spark.jars" in spec.spark:
        return []
    return list(jar_paths(CONNECTOR, jar_cache()))


def stop_on_signals(abandon: Callable[[], None], over: threading.Event) -> Callable[[], bool]:
    """Ask for an end on the first signal; the window that runs then may finish, for a while.

    After that it is abandoned, again and again until the run is over.
    """
    asked: list[int] = []

    def note(number: int, _frame: object) -> None:
        asked.append(number)
        signal.signal(number, signal.SIG_DFL)
        threading.Thread(
            target=keep_abandoning, args=(abandon, over), name="penstock-stop", daemon=True
        ).start()

    signal.signal(signal.SIGTERM, note)
    signal.signal(signal.SIGINT, note)
    return lambda: bool(asked)


def keep_abandoning(abandon: Callable[[], None], over: threading.Event) -> None:
    """Give the window its grace, then abandon what runs until the run is over."""
    pause_s = GRACE_S
    while not over.wait(pause_s):
        with suppress(Exception):  # a JVM that is gone runs no job; one that hiccups is asked again
            abandon()
        pause_s = AGAIN_S
