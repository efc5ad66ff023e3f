"""What a running feed is given by whoever starts it."""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.api.source import Source
from penstock.api.store import Store
from penstock.feeds.compacting import Compact, NextRound
from penstock.feeds.feed_upkeep import Caring
from penstock.model.encryption_keys import Keys
from penstock.model.spec import FeedSpec
from penstock.ports.registry.registry import Registry
from penstock.protocol.publish.group_work import PublishAll, from_here
from penstock.runtime.run_figures import RunFigures
from penstock.runtime.surroundings import Surroundings

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class FeedTools:
    """What a running feed is given.

    `open_source` gives the source of a feed without waiting for anything; `wait_until_ready` waits
    for what sources need, such as Spark, which starts while journals are folded. `caring` is what
    is done beside the loops of feeds. `figures` count what only this process knows. `publish_all`
    is how many files are published, once sources are ready. `compact` compacts a feed whose
    configuration asks for it, and `next_round` says when again; without it nothing is compacted.
    """

    open_source: Callable[[FeedSpec], Source]
    store: Store
    around: Surroundings
    registry: Registry | None = None
    keys: Keys = field(default_factory=Keys)
    wait_until_ready: Callable[[], object] = lambda: None
    caring: Caring = field(default_factory=Caring)
    figures: RunFigures = field(default_factory=RunFigures)
    instance: str = ""  # what this instance is called; empty: by its host and process
    publish_all: PublishAll = from_here
    compact: Compact | None = None
    next_round: NextRound = lambda _feed, now_s: now_s + HOUR_S


def instance_name() -> str:
    """What this process is called in leases and entries."""
    return f"{socket.gethostname()}:{os.getpid()}"
