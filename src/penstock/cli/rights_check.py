"""What `penstock check` tells about the rights of our user in Kafka, before a run misses them."""

from collections.abc import Sequence
from typing import Protocol

from penstock.api.source import SourceUnavailable
from penstock.cli.source_connection import AskedKafka, AskedSource
from penstock.errors import PenstockError, TopicMissing
from penstock.model.spec import FeedSpec
from penstock.model.window import Available


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
