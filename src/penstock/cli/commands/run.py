"""`penstock run`: the feeds of the configuration in one Spark application."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from penstock.care.clean import clean
from penstock.cli.client_settings import (
    connector_jars,
    java_options,
    registry_of,
    revealed,
    source_options,
    source_tools,
)
from penstock.cli.common import PROBE, chosen_feeds, configured, lake_store, surroundings
from penstock.cli.first_compilation import COMPILING
from penstock.cli.moving_line import Ticker
from penstock.cli.options.run_options import GRACE_S
from penstock.cli.run_output import abandon_event, stop_event, teller
from penstock.cli.serving import observed, watching_of
from penstock.config.clients import reveal_spark
from penstock.config.convert_section import reveal_keys
from penstock.config.secrets import has_reference
from penstock.datapath.codec.shared.code_cache import is_complete
from penstock.feeds.run_events import Event, Tell
from penstock.feeds.runner import Runner, RunSpec
from penstock.feeds.running_feed import FeedTools
from penstock.model.spec import LakeSpec
from penstock.ports.source.open_source import open_source
from penstock.spark.session import StartingSession, open_session
from penstock.spark.warm_up import compile_meanwhile

AGAIN_S = 1.0  # then jobs are cancelled this often: the first cancel may fall between two jobs


def run(chosen: argparse.Namespace) -> int:
    """Deliver until stopped. A second signal ends the process at once, which is always safe."""
    spec = configured(chosen)
    feeds = chosen_feeds(spec, chosen.feeds)
    for feed in feeds:
        source_options(spec, feed)  # a missing secret is told before anything starts
    keys = reveal_keys(feeds, os.environ)
    watching = watching_of(chosen)
    around, tell = surroundings(), teller(os.environ)
    beside = compiling_told(tell)
    session = starting_session(spec, "run")
    over = threading.Event()
    runners: list[Runner] = []
    announce = partial(_announce, tell, runners, around.tick)
    is_stopping = stop_on_signals(session.cancel_jobs, over, announce)
    how = RunSpec(once=chosen.once, wait=not chosen.no_wait, take_over=chosen.take_over)
    try:
        store = lake_store(spec)
        store.probe(PROBE)  # nothing could be proven on a store that breaks its promises
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
        runners.append(runner)
        watched = observed(spec, feeds, watching, tools.figures, watching_told(tell))
        with watched as url, Ticker(runner, around.tick, sys.stderr, beside):
            if url:
                tell(Event("", "serving", f"answering on {url}", {"url": url}))
            return runner.run()
    finally:
        over.set()
        session.stop()


def compiling_told(tell: Tell) -> Callable[[], str]:
    """Compile what this machine has not compiled yet, and tell so; what to say meanwhile."""
    if is_complete():
        return lambda: ""
    sentence = f"{COMPILING}, in about a minute; the first window waits for it"
    tell(Event("", "compiling", sentence))
    is_compiling = compile_meanwhile()
    return lambda: COMPILING if is_compiling() else ""


def waiting_told(feed: str, tell: Tell) -> Callable[[str], None]:
    """Tells what the source of a feed waits for, as an event."""
    return lambda sentence: tell(Event(feed, "waiting_for_source", sentence, level="warning"))


def watching_told(tell: Tell) -> Callable[[str], None]:
    """Tells that metrics could not be given to who wants them. No feed is harmed by that."""

    def told(sentence: str) -> None:
        tell(Event("", "metrics_failed", f"metrics: {sentence}", level="warning"))

    return told


def starting_session(spec: LakeSpec, name: str) -> StartingSession:
    """A Spark session that starts in the background; its users wait for it."""
    settings = revealed(reveal_spark(spec.spark, os.environ))
    private = {key for key, value in spec.spark.items() if has_reference(value)}
    jars, java = connector_jars(spec), java_options(spec)
    return StartingSession(lambda: open_session(name, settings, jars, java, private))


def _announce(
    tell: Tell, runners: Sequence[Runner], tick: Callable[[], float], abandoned: bool
) -> None:
    """Tell what becomes of the current window; there is no runner while the lake is opened."""
    runner = runners[0] if runners else None
    if not abandoned:
        tell(stop_event(runner, tick(), GRACE_S))
    elif runner is not None and runner.turn:
        tell(abandon_event(runner.turn, GRACE_S))


def stop_on_signals(
    abandon: Callable[[], None],
    over: threading.Event,
    announce: Callable[[bool], None] = lambda _abandoned: None,
) -> Callable[[], bool]:
    """Stop at the first signal. The current window gets some time to finish.

    After that its jobs are cancelled repeatedly until the run is over. `announce` is called once
    when the signal has come, and with True when the window is abandoned; by a thread of its own,
    since a signal may interrupt a line that is being printed.
    """
    asked: list[int] = []

    def note(number: int, _frame: object) -> None:
        asked.append(number)
        signal.signal(number, signal.SIG_DFL)
        threading.Thread(
            target=keep_abandoning,
            args=(abandon, over, announce),
            name="penstock-stop",
            daemon=True,
        ).start()

    signal.signal(signal.SIGTERM, note)
    signal.signal(signal.SIGINT, note)
    return lambda: bool(asked)


def keep_abandoning(
    abandon: Callable[[], None], over: threading.Event, announce: Callable[[bool], None]
) -> None:
    """Wait for the grace period, then cancel jobs until the run is over."""
    announce(False)
    if over.wait(GRACE_S):
        return
    announce(True)
    while not over.is_set():
        with suppress(Exception):  # a dead JVM runs no job; after another failure it is tried again
            abandon()
        over.wait(AGAIN_S)
