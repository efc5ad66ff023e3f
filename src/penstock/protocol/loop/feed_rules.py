"""What a feed says about its windows: which topics, from where, when, and what is too broken."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from penstock.model.window import PartitionOffsets
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.prove import Findings
from penstock.protocol.loop.topic_plan import WaitingPart


class FeedRules(Protocol):
    """The rules of one feed. Its owner asks them, on its own thread, at every window."""

    def wants(self, topic: str) -> bool:
        """Whether the feed still reads this topic. One that it does not want may be gone."""
        ...

    def first_offset(self, topic: str, partition: int, offsets: PartitionOffsets) -> int:
        """Where reading begins in a partition that was never met; asked once, then written down."""
        ...

    def choose(self, waiting: Sequence[WaitingPart]) -> Mapping[str, int]:
        """The parts to cut a window of now, the first ones first, with the most records of each.

        Asked at every plan about all parts, also about those of which nothing waits.
        """
        ...

    def judge(self, found: Findings, state: FeedState) -> None:
        """Raise `FeedHalted` when too much of a window is broken for it to be decided.

        The window is proven by then, and nothing of it is visible. `state` is what the journal
        says before it.
        """
        ...

    def stops(self, dataset: str) -> bool:
        """Whether a dataset goes no further once records came that its schema cannot take in."""
        ...


class TakeEverything:
    """Every topic from its beginning, at once, and however many records are broken."""

    def wants(self, _topic: str) -> bool:
        """Every topic."""
        return True

    def first_offset(self, _topic: str, _partition: int, offsets: PartitionOffsets) -> int:
        """Everything there is."""
        return offsets.earliest

    def choose(self, waiting: Sequence[WaitingPart]) -> Mapping[str, int]:
        """As soon as there is anything to read, and as much as fits."""
        return {each.part: each.cap for each in waiting if each.records}

    def judge(self, _found: Findings, _state: FeedState) -> None:
        """However many records are broken."""

    def stops(self, _dataset: str) -> bool:
        """Records that do not fit go to the quarantine, and their dataset goes on."""
        return False
