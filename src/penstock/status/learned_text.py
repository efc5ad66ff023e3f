"""What was learned of a feed's recent windows, as rows of `penstock status --stats`."""

from collections.abc import Iterator

from penstock.status.snapshot import FeedSnapshot, Means

Row = dict[str, object]


def learned_rows(found: FeedSnapshot) -> Iterator[Row]:
    """A row for the feed, then for each topic and each dataset: the means for one window."""
    if found.learned is not None:
        yield _row(found.feed, "feed", None, found.learned)
    for name, means in found.learned_topics.items():
        yield _row(found.feed, "topic", name, means)
    for name, means in found.learned_datasets.items():
        yield _row(found.feed, "dataset", name, means)


def _row(feed: str, kind: str, name: str | None, means: Means) -> Row:
    return {
        "feed": feed,
        "of": kind,
        "name": name,
        "record bytes": f"{means.record_bytes:,.0f}" if means.record_bytes else None,
        "records": f"{means.records:,.0f}",
        "rows": f"{means.rows:,.0f}",
        "files": f"{means.files:,.1f}",
        "written bytes": f"{means.written_bytes:,.0f}",
        "task s": f"{means.task_s:,.2f}",
        "seconds": f"{means.elapsed_s:,.1f}",
    }
