"""Which ways the records of a range were read, by dataset, and which values did not fit."""

from collections.abc import Mapping

from penstock.datapath.stage.row_arrays import Rows
from penstock.model.read_ways import (
    Conflict,
    Misfit,
    ReadCounts,
    ReadWays,
    WayReason,
    cut_path,
    most_conflicts,
    most_reasons,
)


class WayTally:
    """Adds up what decoders count, with offsets in place of numbers. Used by one thread."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._places: list[tuple[int, int]] = []  # partitions and offsets of values that do not fit
        self._counts: dict[str, ReadCounts] = {}

    def add(self, dataset: str, counts: ReadCounts, partitions: Rows, offsets: Rows) -> None:
        """Take the counts of some records; `partitions` and `offsets` are theirs, by number."""
        mine = self._counts.setdefault(dataset, ReadCounts())
        mine.fast += counts.fast
        mine.reference += counts.reference
        mine.empty += counts.empty
        for reason, (records, path) in counts.reasons.items():
            mine.add_reason(reason, path, records)
        for misfit, (records, first) in counts.misfits.items():
            self._places.append((int(partitions[first]), int(offsets[first])))
            mine.add_misfit(misfit, len(self._places) - 1, records)

    def ways(self, rest_rows: Mapping[str, int], rows: Mapping[str, int]) -> tuple[ReadWays, ...]:
        """Everything, in an order that a retry repeats; rows are counted by dataset."""
        return tuple(
            ReadWays(
                dataset,
                counts.fast,
                counts.reference,
                most_reasons(
                    WayReason(reason, records, cut_path(path))
                    for reason, (records, path) in counts.reasons.items()
                ),
                counts.empty,
                rest_rows.get(dataset, 0),
                most_conflicts(
                    self._conflict(misfit, *found) for misfit, found in counts.misfits.items()
                ),
                rows.get(dataset, 0),
            )
            for dataset, counts in sorted(self._counts.items())
            if counts.fast or counts.reference
        )

    def _conflict(self, misfit: Misfit, records: int, first: int) -> Conflict:
        path, wanted, found = misfit
        return Conflict(cut_path(path), wanted, found, records, self._topic, *self._places[first])
