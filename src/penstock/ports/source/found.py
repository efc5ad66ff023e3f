"""What Kafka has in a range when it is read once more."""

from penstock.model.evidence import Evidence
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.value import Value

_MASK = (1 << 64) - 1


class RangeFound(Value, frozen=True):
    """Positions and contents of the records; `offsets` only when they were asked for."""

    range: OffsetRange
    read: Evidence = Evidence()
    content_sum: int = 0
    offsets: OffsetSet = OffsetSet()

    def __add__(self, other: "RangeFound") -> "RangeFound":
        return RangeFound(
            self.range,
            self.read + other.read,
            (self.content_sum + other.content_sum) & _MASK,
            self.offsets | other.offsets,
        )
