"""What was lost and what was doubled, as numbers: an independent consumer against the lake.

After every run of every case. The consumer is a client that shares no code with Spark; data files
and the quarantine are found by walking directories and read by pyarrow alone. From the journal come
only the watermarks, first offsets, accepted gaps, the number of filtered records, and which records
a replay took out of the quarantine: their bytes stay there, and they must be in the data.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession

from penstock.model.entries import Gap, Replay, Start, Window
from penstock.model.envelope import Claim
from penstock.model.manifest import Content
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import ReadRecord
from tests.integration.lakes import (
    Place,
    Row,
    audit_deep,
    bodies,
    check_row,
    deep_fold,
    refused_in,
    rows_in,
)


class Source(Protocol):
    """Everything that ever was in a topic of one id."""

    def records_of(self, topic: str, topic_id: str) -> list[ReadRecord]:
        """By a client that is not ours."""
        ...


class Clusters(Protocol):
    """The clusters that journals are bound to."""

    def client_of(self, cluster_id: str) -> Source:
        """The one with this id."""
        ...


class RealParts(Clusters, Protocol):
    """What the deep audit needs besides."""

    @property
    def spark(self) -> SparkSession:
        """A session."""
        ...

    def kafka_of(self, cluster_id: str) -> EmbeddedKafka:
        """The brokers of a cluster."""
        ...


@dataclass(frozen=True)
class Tally:
    """Numbers, and what else is not as it should be."""

    lost: int = 0
    doubled: int = 0
    problems: tuple[str, ...] = ()

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.lost + other.lost, self.doubled + other.doubled, self.problems + other.problems
        )


def is_broken(value: bytes | None) -> bool:
    """True for a record that belongs to the quarantine."""
    try:
        said = json.loads(value or b"")
    except ValueError:
        return True
    return not (isinstance(said, dict) and said.get("type") and said.get("event_time"))


def tally_lake(
    parts: RealParts,
    lake: Path,
    *,
    whole: bool = True,
    broken: Callable[[bytes | None], bool] | None = None,
) -> Tally:
    """All feeds of a lake. `whole`: everything that Kafka has must be delivered by now."""
    feeds = sorted(path.parent.name for path in (lake / "_penstock").glob("*/journal"))
    total = Tally() if feeds else Tally(problems=(f"{lake} has no journal",))
    for feed in feeds:
        total += tally_feed(parts, lake, feed, whole=whole, broken=broken)
        total += Tally(problems=tuple(check_journal(parts, lake, feed)))
    return total


def tally_feed(
    parts: Clusters,
    lake: Path,
    feed: str,
    *,
    whole: bool,
    broken: Callable[[bytes | None], bool] | None,
) -> Tally:
    """One feed: every record once, with its content, in the data or in the quarantine."""
    expected = expected_records(parts, lake, feed, whole=whole)
    data: dict[Place, list[Row]] = {}
    for place, row in rows_in(lake, feed):
        data.setdefault(place, []).append(row)
    refused: dict[Place, list[dict[str, object]]] = {}
    replayed = set(replayed_places(lake, feed))
    for place, columns in refused_in(lake, feed):
        if place not in replayed:
            refused.setdefault(place, []).append(columns)
    found = Counter({place: len(rows) for place, rows in data.items()})
    found.update({place: len(rows) for place, rows in refused.items()})
    said = sum(b.counts.filtered for b in bodies(lake, feed) if isinstance(b, Window))
    missing = [place for place in expected if place not in found]
    strangers = [place for place in found if place not in expected]
    changed = sorted(
        place
        for place, record in expected.items()
        if any(differs(row, record) for row in data.get(place, ()))
        or any(row["value"] != record.value for row in refused.get(place, ()))
    )
    problems = [f"{feed}: {place} has another content" for place in changed[:3]]
    problems += [f"{feed}: {place} was never in Kafka" for place in strangers[:3]]
    twice = sorted(place for place, count in found.items() if count > 1)
    problems += [f"{feed}: {place} is there {found[place]} times" for place in twice[:3]]
    problems += [f"{feed}: {place} is missing" for place in missing[:3] if len(missing) != said]
    if broken is not None:
        wrong = [p for p, record in expected.items() if broken(record.value) != (p in refused)]
        problems += [
            f"{feed}: {place} is in the wrong of data and quarantine" for place in wrong[:3]
        ]
    return Tally(
        max(len(missing) - said, 0) + len(changed),
        sum(count - 1 for count in found.values()) + len(strangers),
        tuple(problems),
    )


def expected_records(
    parts: Clusters, lake: Path, feed: str, *, whole: bool
) -> dict[Place, ReadRecord]:
    """The records that must be there: from the first offset up to the end, or to the watermark."""
    state = deep_fold(lake, feed).state
    said = bodies(lake, feed)
    client = parts.client_of(state.cluster_id)
    starts = {
        (s.topic_id, s.partition): s.offset
        for b in said
        if isinstance(b, Start)
        for s in b.partitions
    }
    gaps = [body.range for body in said if isinstance(body, Gap)]
    marks = {(t, p): known.watermark for t, p, known in state.known_partitions()}
    found: dict[Place, ReadRecord] = {}
    for topic, topic_id in state.topics.items():
        for record in client.records_of(topic, topic_id):
            place = (topic, record.partition, record.offset)
            start = starts.get((topic_id, record.partition), 0)
            is_below = record.offset < marks.get((topic, record.partition), 0)
            is_lost_by_name = any(
                (gap.topic, gap.partition) == place[:2] and gap.start <= record.offset < gap.end
                for gap in gaps
            )
            if record.offset >= start and (whole or is_below) and not is_lost_by_name:
                found[place] = record
    return found


def replayed_places(lake: Path, feed: str) -> Iterator[Place]:
    """The records that left the quarantine for the data."""
    for body in bodies(lake, feed):
        if isinstance(body, Replay):
            assert isinstance(body.content, Content), "a case has few records"
            for part in body.content.records:
                for offset in part.offsets:
                    yield part.topic, part.partition, offset


def differs(row: Row, record: ReadRecord) -> bool:
    """True when a row does not say what its record says."""
    try:
        check_row(row, record)
    except AssertionError:
        return True
    return False


def check_journal(parts: RealParts, lake: Path, feed: str) -> Iterable[str]:
    """Nothing undone, nothing visible that no entry knows, and the audit agrees."""
    fold = deep_fold(lake, feed)
    if fold.state.undone:
        yield f"{feed}: entries {sorted(fold.state.undone)} are not done"
    assert fold.inventory is not None
    home = [lake / feed, lake / "_penstock" / feed / "quarantine"]
    visible = {p.relative_to(lake).as_posix() for each in home for p in each.rglob("*.parquet")}
    odd = sorted(visible ^ set(fold.inventory.files))
    if odd:
        yield f"{feed}: visible and live files differ: {odd[:3]}"
    yield from audited(parts, lake, feed, fold.state.cluster_id)


def audited(parts: RealParts, lake: Path, feed: str, cluster_id: str) -> Iterable[str]:
    """What `penstock audit --deep` finds: every row, and Kafka asked again."""
    receipt = audit_deep(parts.spark, parts.kafka_of(cluster_id), lake, feed)
    return [f"{feed}: audit: {each}" for each in receipt.differences]


def picture(lake: Path) -> dict[str, tuple[int, int]]:
    """Every visible file of the lake, with its identity on the disk."""
    return {
        path.relative_to(lake).as_posix(): (path.stat().st_ino, path.stat().st_size)
        for path in lake.rglob("*.parquet")
    }


def decided(lake: Path) -> list[str]:
    """What the journal decided, without the claims of those who came and found nothing to do."""
    return [type(body).__name__ for body in bodies(lake) if not isinstance(body, Claim)]
