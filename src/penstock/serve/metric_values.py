"""Metrics of a lake as values: every name, its meaning, and its samples. Pure."""

from collections.abc import Callable, Iterable
from platform import python_version

from penstock import __version__
from penstock.api.reporter import Kind, Metric, Metrics, Sample
from penstock.serve import feed_metrics as of
from penstock.serve.feed_facts import FeedFacts, LakeFacts
from penstock.serve.feed_view import FeedView, MetricOptions, Samples

PREFIX = "penstock_"


def metrics_of(lake: LakeFacts, options: MetricOptions) -> Metrics:
    """All metrics, in a fixed order."""
    found = [
        Metric(
            PREFIX + name,
            kind,
            meaning,
            tuple(sample for facts in lake.feeds for sample in _labelled(facts, samples, options)),
        )
        for name, kind, meaning, samples in FEED_METRICS
    ]
    return Metrics(lake.at_s, (*found, *_of_process(lake)))


def _labelled(
    facts: FeedFacts, samples: Callable[["FeedView"], Samples], options: MetricOptions
) -> Samples:
    for sample in samples(FeedView(facts, options)):
        yield Sample(sample.value, {"feed": facts.feed, **sample.labels}, sample.suffix)


def _of_process(lake: LakeFacts) -> Iterable[Metric]:
    readable = {each.feed: 1.0 for each in lake.feeds} | dict.fromkeys(lake.unreadable, 0.0)
    samples = tuple(Sample(value, {"feed": feed}) for feed, value in sorted(readable.items()))
    yield Metric(
        PREFIX + "feed_readable", "gauge", "1 if the journal of a feed can be read", samples
    )
    up = (Sample(float(not lake.lake)),)
    yield Metric(PREFIX + "lake_up", "gauge", "1 if the lake answered when it was last asked", up)
    at = (Sample(lake.at_s),)
    meaning = "When these figures were read from the lake"
    yield Metric(PREFIX + "snapshot_timestamp_seconds", "gauge", meaning, at)
    labels = {"version": __version__, "python": python_version()}
    yield Metric(PREFIX + "build_info", "gauge", "The version of Penstock", (Sample(1, labels),))


FEED_METRICS: tuple[tuple[str, Kind, str, Callable[[FeedView], Samples]], ...] = (
    ("records_read", "counter", "Records that windows have read", of.records_read),
    ("records_written", "counter", "Rows that windows have delivered", of.records_written),
    (
        "records_quarantined",
        "counter",
        "Rows that windows have put into the quarantine",
        of.records_quarantined,
    ),
    ("records_filtered", "counter", "Rows that the configuration leaves out", of.records_filtered),
    ("late_rows", "counter", "Rows that came after their day or hour was complete", of.late_rows),
    ("bytes_written", "counter", "Bytes of files that windows have decided", of.bytes_written),
    ("files_published", "counter", "Files of windows that are visible", of.files_published),
    ("windows", "counter", "Windows by outcome", of.windows),
    ("window_seconds", "histogram", "Seconds of each phase of a window", of.window_seconds),
    ("publish_attempts", "counter", "Tries to make a dataset's files visible", of.publish_attempts),
    ("publish_failures", "counter", "Tries that failed", of.publish_failures),
    ("lag_records", "gauge", "Offsets between what is decided and Kafka's end", of.lag_records),
    ("lag_seconds", "gauge", "Age of the oldest record that waits, at most", of.lag_seconds),
    ("freshness_seconds", "gauge", "Age of the newest record that is visible", of.freshness),
    (
        "decided_offset",
        "gauge",
        "The next offset to read, as decided (committable)",
        of.decided_offset,
    ),
    (
        "visible_offset",
        "gauge",
        "Up to which offset a dataset is visible (committed)",
        of.visible_offset,
    ),
    ("kafka_end_offset", "gauge", "Where Kafka's logs end, as the owner saw it", of.kafka_end),
    (
        "dataset_spread_records",
        "gauge",
        "Largest minus smallest visible offset of datasets; 0 if all that is decided is visible",
        of.spread,
    ),
    ("undone_windows", "gauge", "Entries that are decided and not all visible", of.undone),
    (
        "oldest_open_upload_seconds",
        "gauge",
        "How long the oldest open upload of a decided entry waits to be completed, on S3",
        of.oldest_upload,
    ),
    ("parked_datasets", "gauge", "Datasets that are set aside, decided and not visible", of.parked),
    (
        "last_done_timestamp_seconds",
        "gauge",
        "When the newest window was decided that is visible but for parked datasets",
        of.last_done,
    ),
    (
        "retention_headroom_seconds",
        "gauge",
        "Seconds until records expire in Kafka that were not read yet, at least",
        of.headroom_seconds,
    ),
    (
        "retention_headroom_records",
        "gauge",
        "Offsets between the start of a log and the next to read, where records wait",
        of.headroom_records,
    ),
    (
        "kafka_end_timestamp_seconds",
        "gauge",
        "When the owner last looked at Kafka's ends",
        of.ends_timestamp,
    ),
    (
        "compaction_debt_files",
        "gauge",
        "Small files that a compaction would rewrite, as of the last round",
        of.debt_files,
    ),
    (
        "compaction_debt_bytes",
        "gauge",
        "The bytes of these files",
        of.debt_bytes,
    ),
    ("task_seconds", "counter", "Seconds of tasks that windows took", of.task_seconds),
    ("cost", "counter", "What windows cost, by the prices of the configuration", of.cost),
    ("feed_halted", "gauge", "1 while a feed waits for an operator", of.halted),
    ("owner_alive", "gauge", "1 while an owner of the feed leaves signs of life", of.owner_alive),
)
