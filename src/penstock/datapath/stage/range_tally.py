"""Evidence as columns while rows are written; the numbers are those of `model.position_columns`."""

from penstock.evidence.position_columns import Offsets, positions
from penstock.model.evidence import Evidence


class Tally:
    """Counts rows and adds hashes while batches go by."""

    def __init__(self, topic: str, partition: int) -> None:
        self._topic = topic
        self._partition = partition
        self._parts: list[Evidence] = []

    def add(self, offsets: Offsets, rows: Offsets | None = None) -> None:
        """Take in some rows."""
        self._parts.append(positions(self._topic, self._partition, offsets, rows))

    def total(self) -> Evidence:
        """All rows so far."""
        return Evidence.total(self._parts)
