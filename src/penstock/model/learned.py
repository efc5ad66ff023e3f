"""What recent windows of a feed were like: sizes and seconds, by which the next one is planned.

Only a decided window changes it. Every window counts half as much as the one after it, so it
follows the topic, and one odd window weighs little.
"""

from penstock.model.value import Value
from penstock.model.window_cost import Spent

_DIGITS = 3  # decimal places in the state


class Learned(Value, frozen=True, array_like=True):
    """Weighted sums over recent windows; `windows` is the sum of their weights, below 2.

    `task_s` are seconds of tasks, `elapsed_s` from plans to decisions. Written as an array, since
    a feed may have hundreds of datasets. New fields come last.
    """

    windows: float = 0.0
    records: float = 0.0
    read_bytes: float = 0.0
    rows: float = 0.0
    written_bytes: float = 0.0
    files: float = 0.0
    task_s: float = 0.0
    elapsed_s: float = 0.0

    @property
    def record_bytes(self) -> float:
        """The mean size of a record; 0 when none was read."""
        return self.read_bytes / self.records if self.records else 0.0

    def after(self, spent: Spent, elapsed_ms: int) -> "Learned":
        """With one window more."""
        return Learned(
            _halved(self.windows, 1),
            _halved(self.records, spent.records),
            _halved(self.read_bytes, spent.read_bytes),
            _halved(self.rows, spent.rows),
            _halved(self.written_bytes, spent.written_bytes),
            _halved(self.files, spent.files),
            _halved(self.task_s, spent.task_us / 1_000_000),
            _halved(self.elapsed_s, elapsed_ms / 1_000),
        )

    def mean(self) -> "Learned":
        """The same for one window."""
        share = 1 / self.windows if self.windows else 0.0
        values = (getattr(self, name) * share for name in self.__struct_fields__)
        return Learned(*(round(value, _DIGITS) for value in values))


def _halved(before: float, new: float) -> float:
    return round(before / 2 + new, _DIGITS)
