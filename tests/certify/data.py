"""Data of a case, made from its seed: how much, of which kinds, how broken, in which windows."""

import json
import time
from dataclasses import dataclass
from random import Random

from penstock.testing.kafka_client import KafkaClient

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Data:
    """What is in the topic of a case, and the window policies before and after the crash."""

    topic: str
    partitions: int
    counts: tuple[int, ...]
    kinds: int
    broken_every: int
    first_records: int
    second_records: int

    @classmethod
    def drawn(cls, chance: Random, topic: str) -> "Data":
        """At least four windows, two files in each, and a broken record in the first."""
        partitions = chance.randint(1, 4)
        counts = tuple(chance.randint(50, 150) for _ in range(partitions))
        total = sum(counts)
        first = chance.randint(total // 5 + 1, total // 4)
        second = chance.choice([total // 3 + 1, total // 2, total * 2])
        return cls(
            topic, partitions, counts, chance.randint(2, 5), chance.randint(7, 30), first, second
        )

    def produce(self, client: KafkaClient, chance: Random) -> None:
        """Make the topic and fill it."""
        client.create_topic(self.topic, partitions=self.partitions)
        for partition, count in enumerate(self.counts):
            client.produce(self.topic, partition, [self._record(n, chance) for n in range(count)])

    def produce_more(self, client: KafkaClient, chance: Random, count: int) -> None:
        """So many further records for each partition."""
        for partition in range(self.partitions):
            records = [self._record(n, chance) for n in range(count)]
            client.produce(self.topic, partition, records)

    def _record(self, number: int, chance: Random) -> bytes:
        if number % self.broken_every == 3:
            return chance.choice([b'{"type": "a", "event_time', b"nonsense", b'"\xff\xfe', b"{}"])
        said = {
            "type": f"kind-{chance.randrange(self.kinds)}",
            "event_time": int(time.time() * 1000) - chance.randrange(3) * DAY_MS,
            "n": number,
            "text": "x" * chance.randrange(60),
        }
        return json.dumps(said).encode()
