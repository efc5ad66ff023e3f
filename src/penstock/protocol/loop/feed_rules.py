"""What a feed says about its windows: which topics, from where, when, and what is too broken."""

from typing import Protocol

from penstock.model.window import PartitionOffsets
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.prove import Findings


class FeedRules(Protocol):
    """The rules of one feed. Its owner asks them, on its own thread, at every window."""

    def wants(self, topic: str) -> bool:
        """Whether the feed still reads this topic. One that it does not want may be gone."""
        ...

    def first_offset(self, topic: str, partition: int, offsets: PartitionOffsets) -> int:
        """Where reading begins in a partition that was never met; asked once, then written down."""
        ...

    def is_due(self, waiting: int, cap: int) -> bool:
        """Whether to cut a window now: so many records wait, and so many fit into one."""
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

    def is_due(self, _waiting: int, _cap: int) -> bool:
        """As soon as there is anything to read."""
        return True

    def judge(self, _found: Findings, _state: FeedState) -> None:
        """However many records are broken."""

    def stops(self, _dataset: str) -> bool:
        """Records that do not fit go to the quarantine, and their dataset goes on."""
        return False
