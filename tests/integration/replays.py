"""Replays of a lake that a real feed has filled."""

from pathlib import Path

from pyspark.sql import SparkSession

from penstock.care.replay import replay
from penstock.care.replay_stager import ReplayStager
from penstock.datapath.schemas.learning import Learning
from penstock.model.layout import Layout
from penstock.model.spec import FeedSpec
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.journal.lake_identity import lake_identity
from penstock.spark.parallel_map import SparkParallelMap
from tests.integration.lakes import (
    AROUND,
    HASTY,
)

TORN = [b'{"type": "click", "event_ti', b"\xff\xfe"]


def is_hopeless(value: bytes | None) -> bool:
    """True for a record that no change of the feed can mend."""
    return value in TORN


class Replays:
    """Replays of one lake, by whatever store."""

    def __init__(self, spark: SparkSession, lake: Path, feed: FeedSpec) -> None:
        self._parallel = SparkParallelMap(lambda: spark, lambda _what, _done, _of: None)
        self._lake, self._feed = lake, feed

    def run(self, store: LocalStore | None = None, fingerprint: str = "") -> ReplayStager:
        """One replay, to its end."""
        store = store or LocalStore(self._lake)
        layout = Layout("events")
        journal = FeedJournal(store, layout, lake_identity(store, AROUND), AROUND)
        decode = ReplayStager(
            self._feed,
            store,
            Learning(store, layout, self._feed, None),
            self._parallel,
            AROUND,
            fingerprint,
        )
        replay(journal, HASTY, "a test", decode)
        return decode
