"""What `serve` and `run --serve` share: the token, the facts, the server, and the reporters."""

import argparse
import os
import shlex
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from penstock.api.doors import REPORTERS
from penstock.api.find import make, offer
from penstock.api.reporter import Metrics, Reporter
from penstock.cli.common import lake_store, surroundings
from penstock.cli.errors import UsageMistake
from penstock.cli.options.serve_options import DATASETS, HOST, PORT
from penstock.cli.pricing import pricing
from penstock.config.mistakes import Refused
from penstock.config.secrets import is_only_references, revealed
from penstock.model.layout import Layout
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.journal.lake_identity import known_identity
from penstock.runtime.run_figures import RunFigures
from penstock.serve.app import application
from penstock.serve.errors import TokenRefused
from penstock.serve.facts_keeper import FactsKeeper
from penstock.serve.feed_reader import FeedReader
from penstock.serve.feed_view import MetricOptions
from penstock.serve.metric_values import metrics_of
from penstock.serve.reporting import Reporting
from penstock.serve.server import Address, HttpServer, allowed_hosts, listen

SHORTEST_TOKEN = 16
TOKEN_BYTES = 4_096
ONLY_WITH_SERVE = ("host", "port", "token_file", "token")


@dataclass(frozen=True, slots=True)
class Serving:
    """How to answer, checked: the port is taken already, so nothing can fail later."""

    host: str
    listening: socket.socket
    token: str | None
    options: MetricOptions

    def server(self, keeper: FactsKeeper, tell: Callable[[str], None]) -> HttpServer:
        """The server, which has to be entered."""
        app = application(keeper, self.options, self.token, allowed_hosts(self.host))
        return HttpServer(app, self.listening, tell)


def serving_of(chosen: argparse.Namespace) -> Serving:
    """Check all options and take the port. Raises what makes a command end with 2."""
    token = token_of(chosen.token_file, chosen.token, os.environ)
    host = HOST if chosen.host is None else chosen.host
    port = PORT if chosen.port is None else chosen.port
    options = metric_options(chosen)
    return Serving(host, listen(Address(host, port), token), token, options)


def metric_options(chosen: argparse.Namespace) -> MetricOptions:
    """How finely metrics are shown."""
    most = DATASETS if chosen.most_datasets is None else chosen.most_datasets
    if most < 0:
        raise UsageMistake(
            f"--most-datasets {most} is not a number of datasets.", "Give 0 or more."
        )
    return MetricOptions(most, chosen.partitions)


def token_of(file: str | None, reference: str | None, environ: "os._Environ[str]") -> str | None:
    """The token, from a file or by a reference; None if nobody has to show one."""
    if file is not None:
        try:
            with Path(file).open("rb") as opened:
                raw = opened.read(TOKEN_BYTES + 1)
        except OSError as error:
            raise TokenRefused(f"{file} cannot be read: {error.strerror}") from error
        return checked_token(raw.decode("utf-8", "replace").strip())
    if reference is None:
        return None
    if not is_only_references(reference):
        raise TokenRefused("it is on the command line, where others can read it")
    try:
        return checked_token(revealed(reference, environ).reveal().strip())
    except Refused as error:
        raise TokenRefused(str(error)) from error


def checked_token(token: str) -> str:
    """A token that can stand in a header and is not guessed soon."""
    if len(token) < SHORTEST_TOKEN:
        raise TokenRefused(f"it has {len(token)} characters")
    if len(token) > TOKEN_BYTES or not token.isascii() or not token.isprintable() or " " in token:
        raise TokenRefused("it is too long, or has spaces or characters beyond ASCII")
    return token


def facts_keeper(
    spec: LakeSpec, feeds: Sequence[FeedSpec], figures: RunFigures | None = None
) -> FactsKeeper:
    """The facts of these feeds, of which nothing is read yet."""
    store, around = lake_store(spec), surroundings()

    def require_lake() -> str:
        identity = known_identity(store)
        if identity is None:
            found = f"There is no lake at {spec.lake.uri!r} yet."
            raise UsageMistake(found, "Run `penstock run` first.")
        return identity

    def open_journal(feed: str) -> FeedJournal:
        return FeedJournal(store, Layout(feed), require_lake(), around)

    amount, currency = pricing(spec.prices), spec.prices.currency
    readers = [FeedReader(feed, open_journal, amount, currency) for feed in feeds]
    return FactsKeeper(readers, require_lake, around, figures)


def reporters_of(chosen: argparse.Namespace) -> list[Reporter]:
    """The reporters that a run was given, made now. Raises what makes a command end with 2."""
    found = []
    if chosen.metrics_file is not None:
        if not Path(chosen.metrics_file).absolute().parent.is_dir():
            raise UsageMistake(
                f"The directory of --metrics-file {chosen.metrics_file} does not exist.",
                "Nothing was started. Create it first.",
            )
        found.append(_reporter("textfile", {"path": chosen.metrics_file}))
    for words in chosen.report:
        name, *options = shlex.split(words) or [""]
        pairs = [each.partition("=") for each in options]
        if not name or not all(between for _, between, _ in pairs):
            raise UsageMistake(
                f"--report {words!r} is not a name with options.",
                "Nothing was started. Write NAME KEY=VALUE, as in 'statsd host=127.0.0.1'.",
            )
        found.append(_reporter(name, {key: value for key, _, value in pairs}))
    return found


def _reporter(name: str, options: dict[str, str]) -> Reporter:
    return make(REPORTERS, offer(REPORTERS, name), **options)


@contextmanager
def observed(
    spec: LakeSpec,
    feeds: Sequence[FeedSpec],
    watching: "Watching",
    figures: RunFigures,
    tell: Callable[[str], None],
) -> Iterator[str]:
    """Answer and report while a run works; gives the address, empty if nobody is answered."""
    if watching.serving is None and not watching.reporters:
        yield ""
        return
    keeper = facts_keeper(spec, feeds, figures)
    metrics = partial(_metrics_now, keeper, watching.options)
    with Reporting(watching.reporters, metrics, tell):
        if watching.serving is None:
            yield ""
            return
        with watching.serving.server(keeper, tell) as server:
            yield server.url


@dataclass(frozen=True, slots=True)
class Watching:
    """Who watches a run: those who ask, and those who are reported to."""

    serving: Serving | None
    reporters: list[Reporter]
    options: MetricOptions


def watching_of(chosen: argparse.Namespace) -> Watching:
    """What the options of a run ask for, checked before anything starts."""
    if not chosen.serve:
        given = [name for name in ONLY_WITH_SERVE if getattr(chosen, name) is not None]
        if given:
            word = given[0].replace("_", "-")
            raise UsageMistake(f"--{word} says where to answer.", "Add --serve.")
    reporters = reporters_of(chosen)
    serving = serving_of(chosen) if chosen.serve else None
    return Watching(serving, reporters, metric_options(chosen))


def _metrics_now(keeper: FactsKeeper, options: MetricOptions) -> Metrics:
    return metrics_of(keeper.facts(max_age_s=0.0), options)
