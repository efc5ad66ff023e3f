"""Who may decide for a feed: the lease, which makes others wait, and the claim, which fences them.

The lease is looked at before every claim. So an instance that lost it while it was paused or cut
off goes back in line, instead of fencing the one that is alive now.
"""

from collections.abc import Callable

from penstock.feeds.errors import LeaseLost
from penstock.protocol.feed_book.feed_lease import FeedBeat, FeedLease
from penstock.protocol.loop.owner import Owner


class LeasedOwner:
    """One instance's way to own a feed, again and again. Beats may come from another thread."""

    def __init__(self, feed: str, lease: FeedLease, new_owner: Callable[[], Owner]) -> None:
        self._feed = feed
        self._new_owner = new_owner
        self._has_held = False
        self._is_behind = False  # others may have decided much since our owner has folded
        self.lease = lease
        self.owner = new_owner()

    def try_start(self, *, force: bool = False) -> FeedBeat | None:
        """Take the lease if nobody alive holds it, and claim. None: it is ours; else who holds it.

        May be called again after any failure. `force` takes the lease from the living, once: who
        was taken from after that waits as all others do.
        """
        if not self.lease.is_still_mine():
            holder = self.lease.try_take(force=force and not self._has_held)
            if holder is not None:
                self._is_behind = True
                return holder
        self._has_held = True
        if self._is_behind:
            self.owner, self._is_behind = self._new_owner(), False
        self.owner.take_over(self.require_lease)
        return None

    def start_over(self) -> None:
        """Own the feed again after an outcome that is not known: a fresh fold tells what landed."""
        self.require_lease()
        self.owner = self._new_owner()
        self.owner.take_over(self.require_lease)

    def require_lease(self) -> None:
        """Look at the lease; raises `LeaseLost`."""
        if not self.lease.is_still_mine():
            raise LeaseLost(self._feed)

    def step_back(self) -> None:
        """Go back in line: hold nothing, and fold again before the next claim."""
        self.lease.drop()
        self._is_behind = True
