"""How a feed of a run ends by an error, what is written down then, and when it may go on."""

from collections.abc import Callable, MutableMapping
from functools import partial

from penstock.errors import PenstockError
from penstock.feeds.endings import may_be_resumed, waits_for_a_person
from penstock.feeds.errors import WindowRefused
from penstock.feeds.feed_reports import FeedReports
from penstock.feeds.halted_watch import HaltedWatch
from penstock.feeds.running_feed import RunningFeed

LOOK_S = 10.0  # how often a halted feed is looked at


class FeedHalts:
    """Tells and records the end of one feed. Used by the feed's thread; `failures` by any.

    An end by an error does not stop the run; `failures` has those of now.
    """

    def __init__(
        self, feed: str, reports: FeedReports, failures: MutableMapping[str, PenstockError]
    ) -> None:
        self._feed = feed
        self._reports = reports
        self._failures = failures
        self._watch: HaltedWatch | None = None
        self._next_look = 0.0

    @property
    def is_failed(self) -> bool:
        """True after an error that ended the feed, until it goes on."""
        return self._feed in self._failures

    @property
    def is_watched(self) -> bool:
        """True while the feed is halted, and an operator may let it go on in this run."""
        return self._watch is not None

    def failed(self, error: PenstockError) -> None:
        """Tell why the feed ends."""
        self._watch = None
        self._failures[self._feed] = error
        self._reports.failed(error)

    def halt(self, feed: RunningFeed, error: PenstockError) -> None:
        """Tell why a feed ends; if it waits for an operator, write it down in the lake, too."""
        self.failed(error)
        self.record(error, partial(feed.record_halt, error))

    def record(self, error: PenstockError, leave_word: Callable[[], None]) -> None:
        """Write an end into the lake, unless the cause may pass or another instance goes on."""
        if not waits_for_a_person(error):
            return
        try:
            leave_word()
        except Exception as other:  # noqa: BLE001  the feed ends for another cause, which is told
            sentence = f"that the feed has halted could not be written into the lake: {other}"
            self._reports.warn("halt_unrecorded", sentence, {"code": code_of(other)})

    def forget(self, feed: RunningFeed) -> None:
        """What was written down before the feed went on is void; it is removed when it can be."""
        try:
            feed.forget_halt()
        except PenstockError as error:
            sentence = f"what was left of an earlier halt could not be removed: {error}"
            self._reports.warn("halt_not_removed", sentence, {"code": error.code})

    def halt_and_watch(self, feed: RunningFeed, error: PenstockError) -> None:
        """As `halt`; from the entry on that the feed knows, what an operator decides is seen."""
        watch = feed.halted_watch(refused=isinstance(error, WindowRefused))
        self.halt(feed, error)
        if may_be_resumed(error):
            self._watch = watch

    def may_go_on(self, tick: float) -> bool:
        """Whether a halted feed may go on; asks the lake every 10 seconds."""
        if self._watch is None or tick < self._next_look:
            return False
        self._next_look = tick + LOOK_S
        return self._watch.may_go_on()

    def rest_s(self, tick: float) -> float:
        """How long it is until the next look."""
        return max(self._next_look - tick, 0.0)

    def resumed(self) -> None:
        """The feed is open again after a halt; nothing if it was not halted."""
        if self._watch is None:
            return
        self._watch = None
        self._reports.resumed(self._failures.pop(self._feed))


def code_of(error: Exception) -> str:
    """The code of an error of ours; the class of any other one."""
    return error.code if isinstance(error, PenstockError) else type(error).__name__
