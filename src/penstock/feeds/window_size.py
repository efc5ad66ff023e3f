"""How much a window takes after one that took too long: half of it, down to a smallest size. Pure.

Every window that is delivered doubles it again, until nothing limits it any more. It stands in the
beats of the owner, not in the journal: it decides nothing. The next owner goes on from there; on a
faster machine its windows soon grow.
"""

from collections.abc import Mapping

from penstock.api.source import LEAST_READ
from penstock.protocol.feed_book.feed_lease import LimitedSize

SMALLEST = LEAST_READ  # records; halving a window further would not make its job much shorter
TRIES = 3  # so many timeouts in a row at the smallest size halt the feed


class WindowSize:
    """The limit that timeouts have set on the windows of one feed. Used by its thread."""

    def __init__(self) -> None:
        self.most: int | None = None  # records; None: no limit
        self.smallest_tries = 0  # timeouts in a row at the smallest size

    @property
    def limited(self) -> LimitedSize | None:
        """What the next owner has to know; None while nothing limits windows."""
        return None if self.most is None else LimitedSize(self.most, self.smallest_tries)

    def go_on(self, before: LimitedSize | None) -> None:
        """Go on from where the owner before was.

        If that had tried the smallest size too often, it has halted, and an operator has acted
        since: windows have their usual size again.
        """
        if before is None or before.smallest_tries >= TRIES:
            self.most, self.smallest_tries = None, 0
            return
        self.most, self.smallest_tries = max(before.most_records, SMALLEST), before.smallest_tries

    @property
    def is_exhausted(self) -> bool:
        """True when the feed has to halt: less was tried, and it took too long again and again."""
        return self.smallest_tries >= TRIES

    def within(self, chosen: Mapping[str, int]) -> dict[str, int]:
        """The parts of a window, the first ones first, with no more records than the limit."""
        left = self.most
        if left is None:
            return dict(chosen)
        found: dict[str, int] = {}
        for part, most in chosen.items():
            if left > 0:
                found[part] = min(most, left)
                left -= found[part]
        return found

    def timed_out(self, records: int) -> None:
        """A window of so many records took too long, or was too much for the source."""
        self.smallest_tries = self.smallest_tries + 1 if records <= SMALLEST else 0
        self.most = max(records // 2, SMALLEST)

    def delivered(self, usual: int) -> None:
        """A window was delivered: the next may take twice as much, up to the `usual` size."""
        self.smallest_tries = 0
        if self.most is not None:
            self.most = 2 * self.most if 2 * self.most < usual else None
