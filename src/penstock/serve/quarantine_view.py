"""The quarantine of a feed for the API: counts, reasons and positions, never a payload."""

import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooSlow
from typing import TYPE_CHECKING

from penstock.api.later import Later
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.shard_names import of_quarantine
from penstock.serve.api_values import Json
from penstock.serve.feed_facts import FeedFacts
from penstock.serve.feed_reader import FeedReader

if TYPE_CHECKING:
    from penstock.audit.quarantine_records import QuarantineGroup

MOST_GROUPS = 200
WAIT_S = 20.0

# Reading files needs Arrow, which a server for metrics alone can do without.
groups = Later("penstock.audit.quarantine_records:groups")


class QuarantineViews:
    """Groups of broken records by feed. Read when asked, once for each state of the journal."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[str, tuple[tuple[int, int], Future[Json]]] = {}

    def view(self, reader: FeedReader, facts: FeedFacts, wait_s: float = WAIT_S) -> Json | None:
        """What the quarantine of a feed holds; None while that takes longer than one may wait."""
        counts = facts.status.counts
        version = (counts.quarantined, facts.status.left_quarantine)
        with self._lock:
            known = self._read.get(facts.feed)
            if known is None or known[0] != version or _has_failed(known[1]):
                known = version, _begun(reader.journal())
                self._read[facts.feed] = known
        try:
            found = known[1].result(wait_s)
        except TooSlow:
            return None
        return {
            "feed": facts.feed,
            "records": counts.quarantined - facts.status.left_quarantine,
            "by_reason": _by_reason(facts),
            "groups": found,
        }


def _has_failed(reading: Future[Json]) -> bool:
    return reading.done() and reading.exception() is not None


def _begun(journal: FeedJournal) -> "Future[Json]":
    """Read the groups on a thread of their own, which nobody has to wait for."""
    reading: Future[Json] = Future()

    def read() -> None:
        try:
            reading.set_result(_groups(journal))
        except BaseException as error:  # noqa: BLE001  it is raised where somebody asks
            reading.set_exception(error)

    threading.Thread(target=read, name="penstock-quarantine", daemon=True).start()
    return reading


def _groups(journal: FeedJournal) -> Json:
    fold = journal.open_partial(of_quarantine)
    found = groups(journal.store, fold.state, fold.inventory or Inventory(), MOST_GROUPS)
    return {
        "shown": [_group(each) for each in found.shown],
        "others": found.others,
        "other_records": found.other_records,
    }


def _group(group: "QuarantineGroup") -> Json:
    return {
        "fingerprint": group.fingerprint,
        "reason": group.reason,
        "count": group.count,
        "datasets": [name or None for name in group.datasets],
        "first": str(group.first),
        "last": str(group.last),
    }


def _by_reason(facts: FeedFacts) -> Json:
    return [
        {"dataset": dataset or None, "reason": reason, "count": count}
        for dataset, reasons in sorted(facts.refused.items())
        for reason, count in sorted(reasons.items())
    ]
