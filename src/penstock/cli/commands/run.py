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
from penstock.care.clean import clean
from penstock.cli.common import chosen_feeds, configured, lake_store, surroundings
from penstock.cli.options.run_options import GRACE_S
from penstock.cli.run_output import Ticker, teller
from penstock.config.clients import reveal_kafka, reveal_registry, reveal_source, reveal_spark
from penstock.config.convert_section import reveal_keys
from penstock.config.places import jar_cache
from penstock.config.secrets import Secret, has_reference
from penstock.datapath.codec.shared.code_cache import is_complete
from penstock.feeds.run_events import Event, Tell
from penstock.feeds.runner import Runner, RunSpec
from penstock.feeds.running_feed import FeedTools
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.ports.registry.registry import Registry
from penstock.ports.registry.registry_http import http_fetch
from penstock.ports.source.open_source import open_source
from penstock.spark.gateway import kafka_java_options
from penstock.spark.jars import CONNECTOR, jar_paths
from penstock.spark.session import StartingSession, open_session
from penstock.spark.warm_up import compile_meanwhile

PROBE = "_penstock/probe"
AGAIN_S = 1.0  # then jobs are cancelled this often: the first cancel may fall between two jobs


def run(chosen: argparse.Namespace) -> int:
    """Deliver until stopped. A second signal ends the process at once, which is always safe."""
    spec = configured(chosen)
    feeds = chosen_feeds(spec, chosen.feeds)
    for feed in feeds:
        source_options(spec, feed)  # a missing secret is told before anything starts
    keys = reveal_keys(feeds, os.environ)
    if not is_complete():
        compile_meanwhile()
    session = starting_session(spec, "run")
    over = threading.Event()
    is_stopping = stop_on_signals(session.cancel_jobs, over)
    around = surroundings()
    how = RunSpec(once=chosen.once, wait=not chosen.no_wait, take_over=chosen.take_over)
    try:
        store = lake_store(spec)
        store.probe(PROBE)  # nothing could be proven on a store that breaks its promises
        tell = teller(os.environ)
        tools = FeedTools(
            open_source=lambda feed: open_source(
                feed, source_tools(spec, feed, session.get, waiting_told(feed.name, tell))
            ),
            store=store,
            around=around,
            registry=registry_of(spec),
            keys=keys,
            wait_until_ready=session.get,
            clean=clean,
        )
        runner = Runner(feeds, tools, tell, is_stopping, how)
        with Ticker(runner, around.tick, sys.stderr):
            return runner.run()
    finally:
        over.set()
        session.stop()


def source_options(spec: LakeSpec, feed: FeedSpec) -> dict[str, str]:
    """What the source of a feed is opened with, as plain text."""
    if feed.source.is_kafka:
        return revealed(reveal_kafka(spec.kafka, os.environ))
    return reveal_source(feed, os.environ)


def source_tools(
    spec: LakeSpec,
    feed: FeedSpec,
    session: Callable[[], Any],
    tell: Callable[[str], None] = lambda _sentence: None,
) -> SourceTools:
    """All that the source of a feed is opened with. `tell` shows what is waited for."""
    return SourceTools(session, source_options(spec, feed), tell)


def waiting_told(feed: str, tell: Tell) -> Callable[[str], None]:
    """Tells what the source of a feed waits for, as an event."""
    return lambda sentence: tell(Event(feed, "waiting_for_source", sentence, level="warning"))


def revealed(secrets: Mapping[str, Secret]) -> dict[str, str]:
    """Secrets as plain text, only for the clients that need them."""
    return {key: value.reveal() for key, value in secrets.items()}


def starting_session(spec: LakeSpec, name: str) -> StartingSession:
    """A Spark session that starts in the background; its users wait for it."""
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
    """The pinned connector, if Kafka is read, and unless the configuration names its own jars."""
    if not spec.uses_kafka or "spark.jars.packages" in spec.spark or "spark.jars" in spec.spark:
        return []
    return list(jar_paths(CONNECTOR, jar_cache()))


def stop_on_signals(abandon: Callable[[], None], over: threading.Event) -> Callable[[], bool]:
    """Stop at the first signal. The current window gets some time to finish.

    After that its jobs are cancelled repeatedly until the run is over.
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
    """Wait for the grace period, then cancel jobs until the run is over."""
    pause_s = GRACE_S
    while not over.wait(pause_s):
        with suppress(Exception):  # a dead JVM runs no job; after another failure it is tried again
            abandon()
        pause_s = AGAIN_S
