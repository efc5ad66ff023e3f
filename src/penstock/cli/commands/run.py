"""`penstock run`: the feeds of the configuration in one Spark application."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from functools import partial

from penstock.api.store import StagesAsUploads
from penstock.care.clean import clean
from penstock.care.closed_directories import next_round_s
from penstock.care.compact_in_run import RunCompaction
from penstock.care.finalize import finalize
from penstock.care.retire import retire_old
from penstock.cli.client_settings import (
    connector_jars,
    java_options,
    registry_of,
    revealed,
    servers_of,
    source_options,
    source_tools,
)
from penstock.cli.common import PROBE, chosen_feeds, configured, lake_store, surroundings
from penstock.cli.first_compilation import COMPILING
from penstock.cli.moving_line import Ticker
from penstock.cli.options.run_options import END_S
from penstock.cli.output_streams import leave
from penstock.cli.run_output import teller
from penstock.cli.serving import observed, watching_of
from penstock.cli.waiting_feeds import WaitingFeeds
from penstock.config.clients import reveal_spark
from penstock.config.convert_section import reveal_keys
from penstock.config.places import java_home
from penstock.config.secrets import has_reference
from penstock.datapath.codec.shared.code_cache import is_complete
from penstock.errors import PenstockError
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.feed_upkeep import Caring
from penstock.feeds.run_events import Event, Tell
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.exit_codes import FAILED, worst
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.ports.source.open_source import open_source
from penstock.ports.store.split_store import lake_of
from penstock.spark.java import find_java
from penstock.spark.parallel_map import SparkParallelMap
from penstock.spark.publish_spread import PublishSpread
from penstock.spark.session import StartingSession, open_session
from penstock.spark.warm_up import compile_meanwhile

SPARK_STOP_S = 1.5  # how long Spark may take to stop when the run was asked to
LAST_S = 0.5  # for the last resort
STOPPING = (signal.SIGTERM, signal.SIGINT)


def run(chosen: argparse.Namespace) -> int:
    """Deliver until stopped. A second signal ends the process at once, which is always safe."""
    spec = configured(chosen)
    feeds = chosen_feeds(spec, chosen.feeds)
    for feed in feeds:
        source_options(spec, feed)  # a missing secret is told before anything starts
    keys = reveal_keys(feeds, os.environ)
    watching = watching_of(chosen)
    around, tell = surroundings(), teller(os.environ, feeds=len(feeds))
    waiting = waiting_told(spec, feeds, tell)
    beside = compiling_told(tell)
    session = starting_session(spec, "run")
    over = threading.Event()
    failures: dict[str, PenstockError] = {}
    is_stopping = stop_on_signals(over, partial(_end_now, session, tell, failures))
    how = RunSpec(chosen.once, not chosen.no_wait, chosen.take_over, spec.run)
    has_left_threads = False
    code = 1
    try:
        store = lake_store(spec)
        store.probe(PROBE)  # nothing could be proven on a store that breaks its promises
        lake = lake_of(store)
        for sentence in lake.upload_risks() if isinstance(lake, StagesAsUploads) else ():
            tell(Event("", "store_risk", sentence, {}, "warning"))
        tools = FeedTools(
            open_source=lambda feed: open_source(
                feed, source_tools(spec, feed, session.get, waiting[feed.name])
            ),
            store=store,
            around=around,
            registry=registry_of(spec),
            keys=keys,
            wait_until_ready=session.get,
            caring=Caring(clean, retire_old, finalize),
            publish_all=PublishSpread(session.get),
            compact=RunCompaction(
                lambda _feed, go_on: SparkParallelMap(session.get, lambda *_: go_on()), around
            ),
            next_round=lambda feed, now_s: next_round_s(feed.compact, now_s),
        )
        runner = Runner(feeds, tools, tell, is_stopping, how, failures)
        watched = observed(spec, feeds, watching, tools.figures, watching_told(tell))
        with watched as url, Ticker(runner, sys.stderr, beside):
            if url:
                tell(Event("", "serving", f"answering on {url}", {"url": url}))
            code = runner.run()
        has_left_threads = bool(runner.left_behind)
    finally:
        has_stopped = session.stop(SPARK_STOP_S if is_stopping() or has_left_threads else None)
        over.set()
    if has_left_threads or not has_stopped:
        leave(code)  # Python would wait for threads that nobody answers
    return code


def _end_now(session: StartingSession, tell: Tell, failures: dict[str, PenstockError]) -> None:
    """The last resort: nothing answers, and nothing that is left can do harm.

    The run did not end by itself, so it is not a success, whatever its feeds were doing.
    """
    sentence = "stopping: no answer came in time, and the process ends; the next run goes on"
    tell(Event("", "cut_off", sentence, level="warning"))
    session.kill()
    leave(worst([FAILED, *(error.exit_code for error in failures.copy().values())]))


def compiling_told(tell: Tell) -> Callable[[], str]:
    """Compile what this machine has not compiled yet, and tell so; what to say meanwhile."""
    if is_complete():
        return lambda: ""
    sentence = f"{COMPILING}, in about a minute; the first window waits for it"
    tell(Event("", "compiling", sentence))
    is_compiling = compile_meanwhile()
    return lambda: COMPILING if is_compiling() else ""


def waiting_told(
    spec: LakeSpec, feeds: Iterable[FeedSpec], tell: Tell
) -> dict[str, Callable[[str], None]]:
    """By feed: a function that tells what its source waits for. Feeds of one Kafka share a line."""
    gathered = WaitingFeeds(tell)
    return {
        each.name: gathered.add(
            each.name, servers_of(spec, each) if each.source.is_kafka else f"source {each.name}"
        )
        for each in feeds
    }


def watching_told(tell: Tell) -> Callable[[str], None]:
    """Tells that metrics could not be given to who wants them. No feed is harmed by that."""

    def told(sentence: str) -> None:
        tell(Event("", "metrics_failed", f"metrics: {sentence}", level="warning"))

    return told


def starting_session(spec: LakeSpec, name: str) -> StartingSession:
    """A Spark session that starts in the background; its users wait for it."""
    find_java(java_home())  # before anything is claimed
    settings = revealed(reveal_spark(spec.spark, os.environ))
    private = {key for key, value in spec.spark.items() if has_reference(value)}
    jars, java = connector_jars(spec), java_options(spec)
    return StartingSession(lambda jvm: open_session(name, settings, jars, java, private, jvm=jvm))


def stop_on_signals(over: threading.Event, end_now: Callable[[], None]) -> Callable[[], bool]:
    """Stop at the first signal; whether one has come. A second one ends the process at once.

    `end_now` is called when the run is not over soon enough, by a thread of its own: whatever the
    main thread waits for then does not answer.
    """
    asked: list[int] = []

    def note(number: int, _frame: object) -> None:
        asked.append(number)
        for each in STOPPING:  # SIGTERM after Ctrl-C is a second signal, too
            signal.signal(each, signal.SIG_DFL)
        threading.Thread(
            target=end_in_time, args=(over, end_now), name="penstock-stop", daemon=True
        ).start()

    for each in STOPPING:
        signal.signal(each, note)
    return lambda: bool(asked)


def end_in_time(over: threading.Event, end_now: Callable[[], None]) -> None:
    """Wait until the run is over, and no longer than it may take."""
    if not over.wait(END_S - LAST_S):
        end_now()
