"""The position of one record: topic, partition and offset."""

from penstock.model.value import Value

MOST_DIGITS = 19  # digits of an offset; Python refuses to parse very long numbers


class Position(Value, frozen=True, order=True):
    """The position of a record in Kafka; written `topic/partition/offset`."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"

    @classmethod
    def parse(cls, word: str) -> "Position | None":
        """Parse `topic/partition/offset`; None for anything else."""
        topic, *numbers = word.rsplit("/", 2)
        if not topic or len(numbers) != 2:
            return None
        if not all(number.isascii() and number.isdigit() for number in numbers):
            return None
        if max(map(len, numbers)) > MOST_DIGITS:
            return None
        return cls(topic, int(numbers[0]), int(numbers[1]))
