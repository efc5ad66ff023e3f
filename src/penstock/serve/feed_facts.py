"""All that is known of one feed at one moment, as values: what metrics and the API are made of."""

from datetime import datetime

import msgspec

from penstock.model.refused_records import Refused
from penstock.model.value import Value
from penstock.model.window import Place
from penstock.model.window_cost import Spent
from penstock.runtime.run_figures import PHASES, FeedFigures
from penstock.status.snapshot import FeedSnapshot

ENDS_GOOD_S = 60.0  # how long a look at Kafka counts, unless its owner is busy with a window


class DatasetFacts(Value, frozen=True):
    """One dataset: what its windows delivered, and what of it is decided and not visible.

    `files` are visible; None if too much is undone to tell. `hidden` has the first offset of each
    partition that is not visible; a partition that is not there is visible as far as it is decided.
    `freshness_s` is the age of the newest record up to which all of it is visible.
    """

    name: str
    spent: Spent
    files: int | None
    hidden: dict[Place, int] = msgspec.field(default_factory=dict)
    freshness_s: float | None = None


class FeedFacts(Value, frozen=True, kw_only=True):
    """One feed. What is not known is None.

    `datasets` are in the order in which the journal met them, which never changes. `spread` is how
    far datasets are apart in each partition. `oldest_upload_s` is how long the oldest undone entry
    waits whose files are open uploads; 0 if none waits, None where files are not staged so.
    `phase` is what its owner was at when it last left a
    sign of life. `live` is what only the running process knows.
    """

    at_s: float
    status: FeedSnapshot
    datasets: tuple[DatasetFacts, ...] = ()
    refused: Refused = msgspec.field(default_factory=dict)
    spread: dict[Place, int] = msgspec.field(default_factory=dict)
    last_done_s: float | None = None
    task_s: float | None = None
    cost: float | None = None
    currency: str = ""
    headroom_s: float | None = None
    headroom_records: int | None = None
    oldest_upload_s: float | None = None
    phase: str = ""
    live: FeedFigures | None = None

    @property
    def feed(self) -> str:
        """The feed's name."""
        return self.status.feed

    @property
    def ends_s(self) -> float | None:
        """When the ends of Kafka's logs were last looked up."""
        try:
            return datetime.fromisoformat(self.status.as_of or "").timestamp()
        except ValueError:
            return None

    @property
    def knows_ends(self) -> bool:
        """True when Kafka's ends were looked up a moment ago, or right before this window.

        An owner that gets no answer from Kafka leaves signs of life all the same.
        """
        if self.ends_s is None:
            return False
        is_at_a_window = self.status.owner_state == "running" and self.phase in PHASES
        return is_at_a_window or self.at_s - self.ends_s < ENDS_GOOD_S

    @property
    def decided(self) -> dict[Place, int]:
        """The next offset to read of every partition."""
        return {(each.topic, each.partition): each.watermark for each in self.status.partitions}


class LakeFacts(Value, frozen=True):
    """All feeds at one moment, in the order of the configuration.

    `unreadable` are feeds that could not be read, with a sentence; `lake` says why the lake as a
    whole does not answer, and is empty if it does.
    """

    at_s: float
    feeds: tuple[FeedFacts, ...] = ()
    unreadable: dict[str, str] = msgspec.field(default_factory=dict)
    lake: str = ""

    def feed(self, name: str) -> FeedFacts | None:
        """One feed; None if it could not be read, or is not there."""
        return next((each for each in self.feeds if each.feed == name), None)
