"""The rules of a feed as its configuration gives them: starts, pace, and what is too broken."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from penstock.api.doors import FORMATS
from penstock.api.find import find
from penstock.datapath.shape.route.router import ROUTE_FLOOD
from penstock.feeds.errors import QuarantineTooFull, TooManyTypes, WindowRefused
from penstock.feeds.start_offsets import LooksAtTopics, StartOffsets
from penstock.model.entries import Counts
from penstock.model.names import encode_component
from penstock.model.schema_merging import SCHEMA_INCOMPATIBLE
from penstock.model.spec import FeedSpec, QuarantineSpec, WindowSpec
from penstock.model.window import PartitionOffsets
from penstock.protocol.feed_book.acceptance import is_accepted
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.file_planning import FilePolicy
from penstock.protocol.loop.paces import FeedPaces, Paces, PaceSpec
from penstock.protocol.loop.prove import Findings
from penstock.protocol.loop.topic_plan import WaitingPart, WindowPolicies
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.protocol.publish.troubles import PublishPolicy

FEWEST_BROKEN = 20  # a first window with so many broken records, and no other ones, is judged


class ChoosesParts(Protocol):
    """Says which parts of a feed are read now."""

    def choose(self, waiting: Sequence[WaitingPart]) -> Mapping[str, int]:
        """As in `FeedRules`."""
        ...


class ConfiguredRules:
    """What `penstock.yaml` says about one feed. Driver only."""

    def __init__(
        self, feed: FeedSpec, journal: FeedJournal, gate: ChoosesParts, source: LooksAtTopics
    ) -> None:
        self._feed = feed
        self._journal = journal
        self._gate = gate
        self._starts = StartOffsets(feed, source, lambda: not journal.open().state.topics)

    def wants(self, topic: str) -> bool:
        """What `topics`, `pattern` and `exclude` say."""
        return self._feed.wants(topic)

    def first_offset(self, topic: str, partition: int, offsets: PartitionOffsets) -> int:
        """What `start` means in this partition."""
        return self._starts.of(topic, partition, offsets)

    def choose(self, waiting: Sequence[WaitingPart]) -> Mapping[str, int]:
        """What `window` and `per_topic` say, as far as time is concerned."""
        return self._gate.choose(waiting)

    def judge(self, found: Findings, state: FeedState) -> None:
        """Too many broken records stop the window, unless a person has let this one through."""
        try:
            judge(self._feed, found, is_first=state.windows == 0)
        except WindowRefused:
            if not is_accepted(self._journal, state):
                raise

    def stops(self, dataset: str) -> bool:
        """What `incompatible` says of this dataset."""
        return stops(self._feed, dataset)


def window_policies(feed: FeedSpec) -> WindowPolicies:
    """How much one window may take, of a feed and of topics with a policy of their own."""
    own = {each.topic: _policy(each.window) for each in feed.per_topic}
    return WindowPolicies(_policy(feed.window), own)


def _policy(window: WindowSpec) -> WindowPolicy:
    return WindowPolicy(window.max_records, window.max_bytes)


def paces_of(feed: FeedSpec, tick: Callable[[], float], *, eager: bool = False) -> Paces:
    """When windows of a feed are cut, as from its start."""
    own = {
        each.topic: PaceSpec(each.window.every_s, each.window.max_rate) for each in feed.per_topic
    }
    return Paces(
        FeedPaces(PaceSpec(feed.window.every_s, feed.window.max_rate), own), tick, eager=eager
    )


def file_policy(feed: FeedSpec) -> FilePolicy:
    """Which ranges share files, and how files are written.

    Rows that do not say where they come from share a file only with those of their own partition.
    """
    given = feed.files
    can_share = find(FORMATS, feed.format).traits.has_positions
    gather = given.gather if can_share else "partition"
    return FilePolicy(gather, given.target_bytes, feed.format, feed.compression)


def publish_policy(feed: FeedSpec) -> PublishPolicy:
    """When what fails is tried again, and when it is parked."""
    given = feed.publish
    return PublishPolicy(given.tries, given.retry_after_s, given.retry_most_s)


def stops(feed: FeedSpec, dataset: str) -> bool:
    """Whether a dataset stops at records whose schema cannot be merged with its own."""
    by_feed = feed.decode.incompatible
    own = {encode_component(each.route): each.incompatible or by_feed for each in feed.datasets}
    return own.get(dataset, by_feed) == "stop"


def judge(feed: FeedSpec, found: Findings, *, is_first: bool = False) -> None:
    """Stop a window with too many broken records before anything of it is decided.

    A feed's first window is judged although it is small, if no record of it could be delivered.
    """
    found = without_stopping(feed, found)
    of = f"the next window of feed {feed.name!r}"
    limit = feed.quarantine
    if is_too_full(limit, found.counts):
        if not is_too_full(limit, without_flood(found)):
            raise TooManyTypes(feed.name, of, found, feed.max_new_types)
        raise QuarantineTooFull(feed.name, of, found, limit.max_ratio)
    if is_first and is_all_broken(limit, found.counts):
        raise QuarantineTooFull(feed.name, of, found, limit.max_ratio, why_first(limit))
    for each in feed.datasets:
        directory = encode_component(each.route)
        mine = found.datasets.get(directory)
        if each.quarantine is not None and mine is not None and is_too_full(each.quarantine, mine):
            of = f"dataset {each.route!r} in the next window of feed {feed.name!r}"
            broken = tuple(group for group in found.broken if directory in group.datasets)
            its = Findings(mine, broken=broken)
            raise QuarantineTooFull(feed.name, of, its, each.quarantine.max_ratio)


def without_flood(found: Findings) -> Counts:
    """The counts without the records that are broken only because there are too many new types."""
    flood = found.reasons.get(ROUTE_FLOOD, 0)
    return found.counts + Counts(quarantined=-flood, filtered=flood)


def is_all_broken(limit: QuarantineSpec, counts: Counts) -> bool:
    """True when nothing of a window could be delivered, and it has enough records to tell."""
    is_over = counts.quarantined > limit.max_ratio * counts.rows
    return counts.written == 0 and counts.quarantined >= FEWEST_BROKEN and is_over


def why_first(limit: QuarantineSpec) -> str:
    """Why a window was judged that is smaller than `min_records`."""
    return (
        f" It is judged although it has fewer records than min_records ({limit.min_records}), "
        "because it is the first window of the feed and none of its records could be delivered."
    )


def without_stopping(feed: FeedSpec, found: Findings) -> Findings:
    """What is left to judge when records that stop their dataset are taken out.

    Their dataset stops, by name and with an alarm; the others shall go on, however many they are.
    """
    gone = {dataset: count for dataset, count in found.misfits.items() if stops(feed, dataset)}
    everywhere = sum(gone.values())
    datasets = {name: less(each, gone.get(name, 0)) for name, each in found.datasets.items()}
    reasons = {
        reason: count - (everywhere if reason == SCHEMA_INCOMPATIBLE else 0)
        for reason, count in found.reasons.items()
    }
    kept = {reason: count for reason, count in reasons.items() if count}
    broken = tuple(group for group in found.broken if group.reason in kept)
    return Findings(
        less(found.counts, everywhere), datasets, kept, {}, broken, new_types=found.new_types
    )


def less(counts: Counts, quarantined: int) -> Counts:
    """Counts without some of the quarantined rows."""
    return counts + Counts(read=-quarantined, quarantined=-quarantined)


def is_too_full(limit: QuarantineSpec, counts: Counts) -> bool:
    """True when more is broken than a limit allows; few records are not judged.

    What is quarantined are rows, so where records become several, it is held against all rows.
    """
    if counts.rows < limit.min_records:
        return False
    return counts.quarantined > limit.max_ratio * counts.rows
