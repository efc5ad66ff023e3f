"""What the commands share: the configuration, the lake, and how data is printed."""

import argparse
import getpass
import json
import os
import random
import sys
import time
from collections.abc import Container, Iterable, Mapping

from penstock.api.store import Store
from penstock.cli.errors import UsageMistake
from penstock.cli.printable import printable
from penstock.config.clients import reveal_store
from penstock.config.load import load
from penstock.model.layout import Layout
from penstock.model.names import encode_component
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.ports.store.split_store import open_both
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.journal.lake_identity import known_identity
from penstock.runtime.surroundings import Surroundings, side_by_side

PROBE = "_penstock/probe"  # below it the promises of a store are tried
# After an operator's decision. An idle owner looks as often as a run does at its halted feeds.
TAKEN_UP = "a live run takes it up within 10 seconds; if there is none, start `penstock run`"


def surroundings() -> Surroundings:
    """The real clock, sleep and randomness."""
    return Surroundings(time.time, time.sleep, random.SystemRandom(), do_all=side_by_side)


def configured(chosen: argparse.Namespace) -> LakeSpec:
    """The checked configuration of a command."""
    return load(chosen.config, os.environ)


def chosen_feeds(spec: LakeSpec, names: Iterable[str]) -> tuple[FeedSpec, ...]:
    """The named feeds, or all."""
    by_name = {feed.name: feed for feed in spec.feeds}
    wanted = list(names) or list(by_name)
    unknown = [name for name in wanted if name not in by_name]
    if unknown:
        raise UsageMistake(
            f"There is no feed {', '.join(unknown)} in the configuration.",
            f"It has: {', '.join(by_name) or 'none'}.",
        )
    return tuple(by_name[name] for name in wanted)


def lake_store(spec: LakeSpec) -> Store:
    """The lake's store, with that of its journals if they have their own; opened with secrets."""
    journal = spec.journal and reveal_store(spec.journal, os.environ, "stores")
    return open_both(reveal_store(spec.lake, os.environ), journal)


def reading_journal(spec: LakeSpec, feed: str) -> FeedJournal:
    """A journal to read. Nothing is created, not even the lake's identity."""
    store = lake_store(spec)
    identity = known_identity(store)
    if identity is None:
        found = f"There is no lake at {spec.lake.uri!r} yet."
        raise UsageMistake(found, "Run `penstock run` first.")
    return FeedJournal(store, Layout(feed), identity, surroundings())


def feed_named(chosen: argparse.Namespace, name: str) -> tuple[LakeSpec, FeedSpec, FeedJournal]:
    """One feed: the configuration, the feed's own part of it, and its journal to read."""
    spec = configured(chosen)
    (feed,) = chosen_feeds(spec, [name])
    return spec, feed, reading_journal(spec, name)


def dataset_among(word: str, known: Container[str]) -> str | None:
    """The dataset that a word means, by its own name or by its directory; None: none of these."""
    names = [encode_component(word), word] if word else []
    return next((name for name in names if name in known), None)


def author_of(chosen: argparse.Namespace) -> str:
    """The author of a decision: as given, or the login name. It is recorded, so never empty."""
    author: str = (chosen.author or login_name()).strip()
    if not author:
        raise UsageMistake(
            "The author is empty.", "Nothing was changed. The author is recorded, so give a name."
        )
    return author


def login_name() -> str:
    """The login name, or the user id if there is no name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user id without a name, as in some containers
        return f"uid {os.getuid()}"


def print_rows(rows: Iterable[Mapping[str, object]], output: str) -> None:
    """Data on stdout: a JSON object per line, or aligned text with `-` for what is not known.

    Names in it may come from any producer of a topic, so the text is made safe to print.
    """
    found = list(rows)
    if output == "json":
        for row in found:
            print(json.dumps(row))
        return
    if not found:
        return
    names = list(found[0])
    cells = [[_cell(row[name]) for name in names] for row in found]
    widths = [max(len(n), *(len(c[i]) for c in cells)) for i, n in enumerate(names)]
    for line in [names, *cells]:
        text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print(text.rstrip(), file=sys.stdout)


def _cell(value: object) -> str:
    return "-" if value is None else printable(str(value))
