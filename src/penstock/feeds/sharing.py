"""How instances share the feeds of a lake: who may claim one more, and who gives one up.

An instance with `feeds_at_most` owns no more feeds than that. One that has room, and sees that
another instance owns at least two more than itself, asks for some of them. The other gives a feed
up between two windows, if it still has more. So a new instance gets its share, and nobody gives up
a feed for nothing. Nothing here decides what is delivered: claims fence, as always.
"""

import threading
from collections import Counter

import msgspec

from penstock.api.store import Store
from penstock.model.process_id import Process
from penstock.model.value import Value
from penstock.runtime.this_process import is_dead, this_process

LEAST_SURPLUS = 2  # with one more than the other, giving it up would only swap the two
FORGET_S = 20.0  # a feed that was asked for and not given by then is not waited for any more


class WantedFeed(Value, frozen=True):
    """What an instance says that asks for a feed: who it is, and how many feeds it will have."""

    owner: str
    process: Process
    owned: int


_decoder = msgspec.json.Decoder(WantedFeed)


class FeedShares:
    """The feeds that this instance owns, is about to claim, or has asked for. Any thread."""

    def __init__(self, feeds_at_most: int | None) -> None:
        self._most = feeds_at_most
        self._lock = threading.Lock()
        self._mine: set[str] = set()
        self._holders: dict[str, str] = {}
        self._asked: dict[str, float] = {}

    @property
    def are_shared(self) -> bool:
        """True when feeds are shared with other instances."""
        return self._most is not None

    def may_claim(self, feed: str) -> bool:
        """Whether this instance has room for a feed. If so, it counts as its own from now on."""
        with self._lock:
            if feed not in self._mine and self._most is not None and len(self._mine) >= self._most:
                return False
            self._mine.add(feed)
            return True

    def claimed(self, feed: str) -> None:
        """The feed is ours now."""
        with self._lock:
            self._holders.pop(feed, None)
            self._asked.pop(feed, None)

    def let_go(self, feed: str) -> None:
        """The feed is not ours, or not any more."""
        with self._lock:
            self._mine.discard(feed)

    def seen(self, feed: str, holder: str) -> None:
        """Another instance owns a feed that this one would claim."""
        with self._lock:
            self._mine.discard(feed)
            self._holders[feed] = holder

    def to_ask(self, feed: str, tick: float) -> int | None:
        """Whether to ask for a feed; the number of feeds that we have with all that we ask for.

        None: not now. Its owner must have so many more that it may give one up.
        """
        if self._most is None:
            return None
        with self._lock:
            self._asked = {name: at for name, at in self._asked.items() if tick - at < FORGET_S}
            holder = self._holders.get(feed, "")
            ours = len(self._mine) + len(self._asked)
            theirs = Counter(self._holders.values())[holder]
            theirs -= sum(self._holders.get(name) == holder for name in self._asked)
            if feed in self._asked or ours >= self._most or theirs - ours < LEAST_SURPLUS:
                return None
            self._asked[feed] = tick
            return ours

    def gives_up(self, feed: str, wanted: WantedFeed) -> bool:
        """Whether to give a feed to an instance that asks for it. If so, it is ours no more."""
        with self._lock:
            is_surplus = len(self._mine) - wanted.owned >= LEAST_SURPLUS
            if self._most is None or not is_surplus or feed not in self._mine:
                return False
            self._mine.discard(feed)
            return True


class FeedRequests:
    """The object by which an instance asks for one feed. It decides nothing, and may get lost."""

    def __init__(self, store: Store, lease: str, owner: str) -> None:
        self._store = store
        self._key = f"{lease}/wanted.json"
        self._owner = owner
        self._has_asked = False

    def ask(self, owned: int) -> None:
        """Ask the owner for the feed; nothing where somebody does already."""
        wanted = WantedFeed(self._owner, this_process(), owned)
        self._has_asked = self._store.create(self._key, msgspec.json.encode(wanted))

    def withdraw(self) -> None:
        """Ask no more."""
        if self._has_asked:
            self._has_asked = False
            self._store.delete(self._key)

    def take(self) -> WantedFeed | None:
        """Who asks for the feed, if somebody who lives does. A request is answered once."""
        found = self._store.read(self._key)
        if found is None:
            return None
        self._store.delete(self._key)
        try:
            wanted = _decoder.decode(found)
        except msgspec.MsgspecError:
            return None  # of a version that says it in another way: it asks again
        return None if is_dead(wanted.process) else wanted
