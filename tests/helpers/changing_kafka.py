"""A simulated cluster whose answers a test can change."""

from collections.abc import Callable

import msgspec

from penstock.model.window import Available, PartitionOffsets
from tests.simulator.kafka import SimKafka


class ChangingKafka(SimKafka):
    """A cluster that can be made to say something else."""

    change: Callable[[Available], Available] | None = None

    def available(self) -> Available:
        """What it holds, changed."""
        now = super().available()
        return now if self.change is None else self.change(now)


def expired_to(offset: int) -> Callable[[Available], Available]:
    def change(now: Available) -> Available:
        (topic,) = now.topics
        kept = {p: PartitionOffsets(offset, o.latest) for p, o in topic.partitions.items()}
        return Available(now.cluster_id, (msgspec.structs.replace(topic, partitions=kept),))

    return change
