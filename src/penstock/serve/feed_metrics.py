"""The samples of every metric of one feed. Pure.

A figure that is not known has no sample: 0 would be wrong.
"""

from collections.abc import Mapping

from penstock.api.reporter import Sample
from penstock.model.manifest import QUARANTINE
from penstock.model.window import Place
from penstock.runtime.run_figures import BOUNDS_S, FeedFigures, Histogram
from penstock.serve.feed_view import NO_NAME, OTHER, UNKNOWN, FeedView, Samples, one

MOST_REASONS = 50

# --- what the journal says -------------------------------------------------------------------


def records_read(view: FeedView) -> Samples:
    """Of all windows."""
    yield from one(view.facts.status.counts.read)


def records_written(view: FeedView) -> Samples:
    """By dataset; of windows without a cost under a label of their own."""
    yield from view.by_dataset(lambda each: each.spent.rows, quarantine=False)
    known = sum(each.spent.rows for each in view.facts.datasets if each.name != QUARANTINE)
    if older := view.facts.status.counts.written - known:
        yield Sample(older, {"dataset": UNKNOWN})


def records_quarantined(view: FeedView) -> Samples:
    """By dataset and reason."""
    found: dict[tuple[str, str], int] = {}
    reasons: list[str] = []
    for dataset, counts in view.facts.refused.items():
        for reason, count in counts.items():
            if reason not in reasons:
                reasons.append(reason)
            word = reason if reason in reasons[:MOST_REASONS] else OTHER
            key = (view.label(dataset or NO_NAME), word)
            found[key] = found.get(key, 0) + count
    if older := view.facts.status.counts.quarantined - sum(found.values()):
        found[UNKNOWN, UNKNOWN] = older
    for (dataset, reason), count in found.items():
        yield Sample(count, {"dataset": dataset, "reason": reason})


def records_filtered(view: FeedView) -> Samples:
    """Of all windows."""
    yield from one(view.facts.status.counts.filtered)


def late_rows(view: FeedView) -> Samples:
    """By dataset; those without any have none."""
    found: dict[str, int] = {}
    for dataset, late in view.facts.status.late.items():
        label = view.label(dataset)
        found[label] = found.get(label, 0) + late.rows
    for label, rows in found.items():
        yield Sample(rows, {"dataset": label})


def bytes_written(view: FeedView) -> Samples:
    """By dataset, with the quarantine."""
    yield from view.by_dataset(lambda each: each.spent.written_bytes)


def files_published(view: FeedView) -> Samples:
    """By dataset: those that are visible."""
    yield from view.by_dataset(lambda each: each.files)


def task_seconds(view: FeedView) -> Samples:
    """Of all windows with a cost."""
    yield from one(view.facts.task_s)


def cost(view: FeedView) -> Samples:
    """In the currency of the configuration."""
    yield from one(view.facts.cost, currency=view.facts.currency)


def decided_offset(view: FeedView) -> Samples:
    """The next offsets to read."""
    yield from view.by_place(view.facts.decided)


def visible_offset(view: FeedView) -> Samples:
    """By dataset; of all others together the smallest."""
    decided, named = view.facts.decided, view.named
    others: dict[Place, int] = {}
    for each in view.facts.datasets:
        visible = {at: min(each.hidden.get(at, end), end) for at, end in decided.items()}
        if each.name in named:
            yield from view.by_place(visible, dataset=each.name)
        else:
            others = {at: min(end, others.get(at, end)) for at, end in visible.items()}
    if others:
        yield from view.by_place(others, dataset=OTHER)


def spread(view: FeedView) -> Samples:
    """How far datasets are apart."""
    yield from view.by_place(view.facts.spread)


def undone(view: FeedView) -> Samples:
    """Decided, and not all of it visible."""
    yield from one(view.facts.status.undone)


def oldest_upload(view: FeedView) -> Samples:
    """Only where files are staged as uploads."""
    yield from one(view.facts.oldest_upload_s)


def parked(view: FeedView) -> Samples:
    """Set aside after failures, or stopped."""
    yield from one(len(view.facts.status.parked))


def last_done(view: FeedView) -> Samples:
    """Survives restarts."""
    yield from one(view.facts.last_done_s)


def freshness(view: FeedView) -> Samples:
    """By dataset; of all others together the oldest."""
    named = view.named
    oldest: float | None = None
    for each in view.facts.datasets:
        if each.name in named:
            yield from one(each.freshness_s, dataset=each.name)
        elif each.freshness_s is not None:
            oldest = max(each.freshness_s, oldest or 0.0)
    yield from one(oldest, dataset=OTHER)


def halted(view: FeedView) -> Samples:
    """1 while a feed waits for an operator."""
    yield Sample(float(view.facts.status.halted is not None))


def owner_alive(view: FeedView) -> Samples:
    """1 while an owner leaves signs of life."""
    yield Sample(float(view.facts.status.owner_state == "running"))


# --- what the owner saw of Kafka -------------------------------------------------------------


def kafka_end(view: FeedView) -> Samples:
    """Where logs end, of the partitions that are read."""
    if view.facts.knows_ends:
        seen = view.facts.status.partitions
        ends = {(p.topic, p.partition): p.latest for p in seen if p.latest is not None}
        yield from view.by_place(ends) if ends else ()


def lag_records(view: FeedView) -> Samples:
    """How many offsets lie between what is decided and the end."""
    if view.facts.knows_ends:
        seen = view.facts.status.partitions
        lags = {(p.topic, p.partition): p.lag_records for p in seen if p.lag_records is not None}
        yield from view.by_place(lags) if lags else ()


def lag_seconds(view: FeedView) -> Samples:
    """The largest of all partitions."""
    if not view.facts.knows_ends:
        return
    if not view.options.partitions:
        yield from one(view.facts.status.lag_seconds)
        return
    for each in view.facts.status.partitions:
        place = {"topic": each.topic, "partition": str(each.partition)}
        yield from one(each.lag_seconds, **place)


def headroom_seconds(view: FeedView) -> Samples:
    """The least of all partitions."""
    yield from one(view.facts.headroom_s if view.facts.knows_ends else None)


def headroom_records(view: FeedView) -> Samples:
    """The least of all partitions."""
    yield from one(view.facts.headroom_records if view.facts.knows_ends else None)


def ends_timestamp(view: FeedView) -> Samples:
    """How old all of these are."""
    yield from one(view.facts.ends_s)


# --- what only the process knows -------------------------------------------------------------


def windows(view: FeedView) -> Samples:
    """Those that were delivered are in the journal; others only this process knows."""
    yield Sample(view.facts.status.windows, {"outcome": "delivered"})
    for outcome, count in sorted(_live(view).windows.items()):
        yield Sample(count, {"outcome": outcome})


def window_seconds(view: FeedView) -> Samples:
    """A histogram by phase."""
    for phase, spans in sorted(_live(view).phases.items()):
        yield from _histogram(spans, phase)


def _histogram(spans: Histogram, phase: str) -> Samples:
    total = 0
    for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), spans.counts, strict=True):
        total += count
        yield Sample(total, {"phase": phase, "le": bound}, "_bucket")
    yield Sample(total, {"phase": phase}, "_count")
    yield Sample(spans.sum_s, {"phase": phase}, "_sum")


def publish_attempts(view: FeedView) -> Samples:
    """By dataset."""
    yield from _tries(view, _live(view).attempts)


def publish_failures(view: FeedView) -> Samples:
    """By dataset, with 0 where nothing failed, so that a share can be computed."""
    live = _live(view)
    yield from _tries(view, dict.fromkeys(live.attempts, 0) | live.failures)


def debt_files(view: FeedView) -> Samples:
    """Only of feeds that are compacted by this process, since its first round."""
    debt = _live(view).debt
    yield from one(None if debt is None else debt.files)


def debt_bytes(view: FeedView) -> Samples:
    """The same in bytes."""
    debt = _live(view).debt
    yield from one(None if debt is None else debt.size_bytes)


def _tries(view: FeedView, counts: Mapping[str, int]) -> Samples:
    found: dict[str, int] = {}
    for dataset, count in counts.items():
        label = view.label(dataset)
        found[label] = found.get(label, 0) + count
    yield from (Sample(count, {"dataset": name}) for name, count in sorted(found.items()))


def _live(view: FeedView) -> FeedFigures:
    return view.facts.live or FeedFigures()
