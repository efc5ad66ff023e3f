"""What a task tells the driver so that it can learn: payloads, and names of schemas."""

from collections.abc import Mapping

import pyarrow as pa

from penstock.api.codec import Message
from penstock.datapath.stage.shred_plan import Samples, Unlearned

# Of a dataset: so many of the first records, and as many at even distances of all that follow.
SAMPLE_ROWS = 500
SAMPLE_BYTES = 500_000
MOST_FIELDS = 1_000  # that bring a record of their own
# For all datasets of a task together. Beyond it a dataset gets one payload: enough to begin with.
TASK_BYTES = 32_000_000


class EvenPayloads:
    """Payloads at even distances of all that come, however many they are. A retry has the same.

    When there are too many, every second one is dropped and the distance doubles.
    """

    def __init__(self) -> None:
        self.payloads: list[bytes] = []
        self.size = 0
        self._distance = 1
        self._seen = 0

    def offer(self, values: pa.Array, room: int) -> None:
        """Take what is due of some more payloads, as long as there is room for so many bytes."""
        place = -self._seen % self._distance
        while place < len(values):
            payload: bytes = values[place].as_py()
            if self.size + len(payload) <= room and len(payload) <= SAMPLE_BYTES:
                self._keep(payload)
            reached = self._seen + place
            place = (reached // self._distance + 1) * self._distance - self._seen
        self._seen += len(values)

    def _keep(self, payload: bytes) -> None:
        self.payloads.append(payload)
        self.size += len(payload)
        while len(self.payloads) > SAMPLE_ROWS or self.size > SAMPLE_BYTES:
            self.payloads = self.payloads[::2]
            self.size = sum(map(len, self.payloads))
            self._distance *= 2


class Sampling:
    """Gathers payloads per dataset within bounds: the first ones, and some of all others.

    A column has its type for ever, so it should not depend on the first records alone: numbers
    may be whole for hours before one has a fraction.
    """

    def __init__(self) -> None:
        self._payloads: dict[tuple[str, bool], list[bytes]] = {}
        self._sizes: dict[tuple[str, bool], int] = {}
        self._later: dict[tuple[str, bool], EvenPayloads] = {}
        self._shown: set[tuple[str, str]] = set()
        self._task_bytes = 0
        self._named: set[str] = set()
        self._unlearned: set[Unlearned] = set()
        self.has_new = False

    def add_named(self, key: str, message: Message, *, is_known: bool) -> None:
        """Note a schema that records name; of one that is not known, the message as well."""
        self._named.add(key)
        if not is_known:
            self.add_unlearned(Unlearned("", key, message))

    def add_unlearned(self, unlearned: Unlearned) -> None:
        """Note a dataset that needs a new version of its schema, or a first one."""
        self._unlearned.add(unlearned)
        self.has_new = True

    def named(self) -> tuple[str, ...]:
        """The schemas that records name."""
        return tuple(sorted(self._named))

    def unlearned(self) -> tuple[Unlearned, ...]:
        """The datasets to be learned, in an order that a retry repeats."""
        return tuple(
            sorted(self._unlearned, key=lambda each: (each.dataset, each.key, each.message))
        )

    def add_new(self, dataset: str, values: pa.Array) -> None:
        """Take payloads of a dataset that the plan does not know; there may be none."""
        self.has_new = True
        self._fill((dataset, True), values)

    def add_unknown(self, dataset: str, values: pa.Array, unknown: Mapping[str, int]) -> None:
        """Take payloads with fields that have no column, each with the first that shows it.

        The record that shows a field first comes before all others, and has room of its own, so
        that a field that comes late and seldom is learned too.
        """
        first: set[int] = set()
        for path, at in unknown.items():
            if (dataset, path) not in self._shown and len(self._shown) < MOST_FIELDS:
                self._shown.add((dataset, path))
                first.add(at)
        kept = self._payloads.setdefault((dataset, False), [])
        for payload in values.take(pa.array(sorted(first), pa.int64())).to_pylist():
            if self._task_bytes + len(payload) <= TASK_BYTES:
                kept.append(payload)
                self._task_bytes += len(payload)
        self._fill((dataset, False), values)

    def all(self) -> tuple[Samples, ...]:
        """Everything, in an order that a retry repeats."""
        return tuple(
            Samples(*key, (*payloads, *(self._later[key].payloads if key in self._later else ())))
            for key, payloads in sorted(self._payloads.items())
        )

    def _fill(self, key: tuple[str, bool], values: pa.Array) -> None:
        """Take from the beginning as long as there is room, and some of what is left."""
        kept = self._payloads.setdefault(key, [])
        size = self._sizes.get(key, 0)
        taken = 0
        for value in values[: max(SAMPLE_ROWS - len(kept), 0)]:
            payload = value.as_py()
            room = min(SAMPLE_BYTES - size, TASK_BYTES - self._task_bytes)
            if kept and len(payload) > room:
                break
            kept.append(payload)
            size += len(payload)
            taken += 1
            self._task_bytes += len(payload)
        self._sizes[key] = size
        if taken < len(values):
            later = self._later.setdefault(key, EvenPayloads())
            before = later.size
            later.offer(values[taken:], room=TASK_BYTES - self._task_bytes + before)
            self._task_bytes += later.size - before
