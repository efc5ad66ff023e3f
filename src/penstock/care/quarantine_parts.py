"""Quarantined records by Kafka partition, each part with the files that hold its records."""

from collections.abc import Iterable

from penstock.datapath.stage.quarantine_rows import QuarantinePart
from penstock.model.manifest import RecordSet
from penstock.model.ranges import OffsetRange

Files = tuple[tuple[str, tuple[OffsetRange, ...]], ...]  # each with the ranges that it covers
_Place = tuple[str, str, int]  # topic, topic id, partition


def quarantine_parts(
    records: Iterable[RecordSet],
    files: Files,
    datasets: frozenset[str] | None = None,
    fingerprint: str = "",
) -> list[QuarantinePart]:
    """The records by partition. Without `datasets` or a `fingerprint` all of them are meant."""
    wanted: dict[_Place, list[RecordSet]] = {}
    for each in records:
        if datasets is None or each.dataset in datasets:
            wanted.setdefault((each.topic, each.topic_id, each.partition), []).append(each)
    return [
        QuarantinePart(
            span_of(mine),
            tuple(final for final, ranges in files if _is_of(ranges, place)),
            tuple(mine),
            fingerprint,
        )
        for place, mine in sorted(wanted.items())
    ]


def span_of(records: list[RecordSet]) -> OffsetRange:
    """The range from the first of the records of a partition to the last."""
    first = min(each.offsets.runs[0][0] for each in records)
    last = max(each.offsets.runs[-1][1] for each in records)
    part = records[0]
    return OffsetRange(part.topic, part.topic_id, part.partition, first, last)


def _is_of(ranges: tuple[OffsetRange, ...], place: _Place) -> bool:
    return any((each.topic, each.topic_id, each.partition) == place for each in ranges)
