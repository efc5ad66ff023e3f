"""What the integration tests share: events, a run, and reading a lake without our code."""

import json
import time
from collections import Counter
from pathlib import Path
from random import SystemRandom

import pyarrow.dataset as ds
from pyspark.sql import SparkSession

from penstock.engine.feed import FeedTools
from penstock.engine.run import Runner, RunSpec
from penstock.journal.journal import Fold, Journal
from penstock.journal.lake import lake_identity
from penstock.journal.layout import Layout
from penstock.model.manifest import QUARANTINE
from penstock.model.spec import FeedSpec
from penstock.model.surroundings import Surroundings
from penstock.store.local import LocalStore
from penstock.testing.broker import EmbeddedKafka

AROUND = Surroundings(time.time, time.sleep, SystemRandom())
DAY_MS = 86_400_000


def an_event(number: int) -> bytes:
    """Three types over three days; every fiftieth is broken."""
    if number % 50 == 13:
        return b'{"type": "click", "event_time'
    kind = ("click", "view", "order")[number % 3]
    at = int(time.time() * 1000) - (number % 7 % 3) * DAY_MS
    return json.dumps({"type": kind, "event_time": at, "n": number, "text": "x" * 20}).encode()


def run_once(
    spark: SparkSession, kafka: EmbeddedKafka, lake: Path, feed: FeedSpec
) -> tuple[int, list[str]]:
    """`penstock run --once`, in this process."""
    told: list[str] = []
    tools = FeedTools(
        lambda: spark, {"bootstrap.servers": kafka.bootstrap}, LocalStore(lake), AROUND
    )
    spec = RunSpec(once=True)
    runner = Runner((feed,), tools, lambda e: told.append(e.sentence), lambda: False, spec)
    return runner.run(), told


def deep_fold(lake: Path) -> Fold:
    """The journal with its files."""
    store = LocalStore(lake)
    return Journal(store, Layout("events"), lake_identity(store, AROUND), AROUND).open(deep=True)


def positions_in(
    lake: Path, fold: Fold
) -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]:
    """Positions of all rows in data files and in the quarantine, read without our code."""
    assert fold.inventory is not None
    data: Counter[tuple[int, int]] = Counter()
    refused: Counter[tuple[int, int]] = Counter()
    for final, live in fold.inventory.files.items():
        table = ds.dataset(lake / final).to_table(columns=["_partition", "_offset"])
        rows = zip(*(table[c].to_pylist() for c in ("_partition", "_offset")), strict=True)
        (refused if live.dataset == QUARANTINE else data).update(rows)
    return data, refused
