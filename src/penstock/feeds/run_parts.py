"""How to run feeds, and what the feeds of one run share."""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field

from penstock.errors import PenstockError
from penstock.feeds.cleaning import Cleaner
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.run_events import Tell
from penstock.feeds.running_feed import RunningFeed
from penstock.feeds.sharing import FeedShares
from penstock.feeds.slots import Slots
from penstock.model.spec import RunLimits


@dataclass(frozen=True, slots=True)
class RunSpec:
    """How to run: `once` ends when all is delivered; whether to wait for another owner or not.

    `limits` say how many feeds work at once.
    """

    once: bool = False
    wait: bool = True
    take_over: bool = False
    limits: RunLimits = field(default_factory=RunLimits)


@dataclass(frozen=True, slots=True)
class RunParts:
    """What the feeds of a run share. All of it is safe for several threads.

    `is_ready` tells whether sources may be asked: whether Spark is up. Asking begins the wait.
    """

    tools: FeedTools
    tell: Tell
    is_stopping: Callable[[], bool]
    spec: RunSpec
    slots: Slots
    shares: FeedShares
    cleaner: Cleaner
    failures: MutableMapping[str, PenstockError]
    opened: Callable[[RunningFeed], None]
    is_ready: Callable[[], bool]
    feeds: int = 1  # how many there are
