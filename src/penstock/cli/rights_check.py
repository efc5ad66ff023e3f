"""What `penstock check` tells about rights in Kafka and in the lake, before a run misses them."""

from collections.abc import Sequence
from typing import Protocol

from penstock.api.source import SourceUnavailable
from penstock.api.store import ShowsWriteRights, Store
from penstock.cli.source_connection import AskedKafka, AskedSource
from penstock.errors import PenstockError, StoreUnavailable, TopicMissing
from penstock.model.layout import Layout
from penstock.model.spec import FeedSpec
from penstock.model.window import Available
from penstock.ports.store.split_store import journal_of, lake_of


class TellsFindings(Protocol):
    """Takes what was found about one feed."""

    def warn(self, sentence: str) -> None:
        """Add something that stops no run."""
        ...

    def fail(self, error: PenstockError) -> None:
        """Add something that would stop a run."""
        ...


def tell_rights(
    finding: TellsFindings, feed: FeedSpec, source: AskedSource, available: Available
) -> None:
    """Add topics that we may not read, and a consumer group that lag cannot be exported to."""
    if not isinstance(source, AskedKafka):
        return
    try:
        source.rights.check_reading([topic.topic for topic in available.topics])
    except SourceUnavailable as error:
        finding.fail(error)
    if feed.export_offsets == "none":
        return
    try:
        source.rights.check_group(f"penstock-{feed.name}")
    except SourceUnavailable as error:
        finding.warn(
            f"lag cannot be exported: {error.found} Records are delivered without it. Give the "
            "user Read on this group, or set `export_offsets: none`."
        )


def tell_unwritable(finding: TellsFindings, store: Store, layout: Layout, number: int) -> None:
    """Add the first directory of a feed in which a run could not write what it writes next.

    The probe of the lake only tries a directory of its own. `number` is that of the next entry.
    """
    lake, journal = lake_of(store), journal_of(store)
    home, entries = above(layout.journal), above(layout.entry(number))
    asked = ((journal, home), (journal, entries), (lake, home), (lake, layout.data))
    for part, directory in asked:
        refused = part.unwritable(directory) if isinstance(part, ShowsWriteRights) else []
        if refused:
            why = "this user may not write there, and a run would try"
            finding.fail(StoreUnavailable("create objects in", refused[0], why))
            return


def above(key: str) -> str:
    """The directory of a key."""
    return key.rpartition("/")[0]


def missing_or_hidden(
    source: AskedSource | None, topics: Sequence[str], missing: TopicMissing
) -> PenstockError:
    """Why topics are not listed: they are missing, or we may not see them."""
    if not isinstance(source, AskedKafka):
        return missing
    try:
        source.rights.check_absent(topics)
    except SourceUnavailable as error:
        return error
    return missing
