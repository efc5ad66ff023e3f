"""What a feed may read now: as much as is due, as timeouts allow, and when a slot is free."""

from collections.abc import Mapping, Sequence

from penstock.feeds.slots import FeedSlot
from penstock.feeds.window_size import WindowSize
from penstock.protocol.loop.paces import Paces
from penstock.protocol.loop.topic_plan import WaitingPart


class WindowGate:
    """Asked at every plan of a feed, on its thread. A window that is let through has a slot."""

    def __init__(self, paces: Paces, size: WindowSize, slot: FeedSlot) -> None:
        self._paces = paces
        self._size = size
        self._slot = slot

    def choose(self, waiting: Sequence[WaitingPart]) -> Mapping[str, int]:
        """The parts to cut a window of now; none as long as no slot is free for it.

        What is read is planned when there is a slot, so that a feed that had to wait reads all that
        came meanwhile, in one window.
        """
        chosen = self._size.within(self._paces.choose(waiting))
        if not chosen:
            self._slot.leave()
        elif not self._slot.try_take():
            return {}
        return chosen
