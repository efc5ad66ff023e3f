"""Running the feeds of a lake in one Spark application, one window after the other."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from penstock.engine.errors import DatasetParked
from penstock.engine.feed import FeedTools, RunningFeed
from penstock.errors import FeedHalted, PenstockError
from penstock.model.spec import FeedSpec

Tell = Callable[[str, str], None]  # feed, sentence


@dataclass
class Runner:
    """Turns the wheel: every feed gets a window in turn; one that stops does not stop others."""

    feeds: tuple[FeedSpec, ...]
    tools: FeedTools
    tell: Tell
    is_stopping: Callable[[], bool]
    once: bool = False
    failures: dict[str, PenstockError] = field(default_factory=dict)

    def run(self) -> int:
        """Run until told to stop, or until all is delivered; the worst exit code."""
        running = [feed for spec in self.feeds if (feed := self._start(spec)) is not None]
        try:
            while running and not self.is_stopping():
                moved = [feed for feed in running if self._turn(feed)]
                running = [feed for feed in running if feed.feed.name not in self.failures]
                if self.once:
                    for feed in (idle for idle in running if idle not in moved):
                        self._let_go(feed)
                    running = moved
                elif not moved:
                    self._rest()
        finally:
            for feed in running:
                self._let_go(feed)
        return worst(error.exit_code for error in self.failures.values())

    def _start(self, spec: FeedSpec) -> RunningFeed | None:
        try:
            feed = RunningFeed(spec, self.tools, once=self.once)
            feed.take_over()
        except PenstockError as error:
            self._failed(spec.name, error)
            return None
        self.tell(spec.name, f"claimed epoch {feed.owner.epoch}")
        return feed

    def _turn(self, feed: RunningFeed) -> bool:
        before = self.tools.around.now()
        try:
            moved = feed.run_window()
        except PenstockError as error:
            self._failed(feed.feed.name, error)
            feed.close()
            return False
        if moved:
            took = self.tools.around.now() - before
            state = feed.owner.fold.state
            self.tell(feed.feed.name, f"window {state.windows} delivered in {took:.1f} s")
        return moved

    def _let_go(self, feed: RunningFeed) -> None:
        """A feed that ends with parked datasets has not delivered everything, and says so."""
        feed.close()
        parked = feed.owner.fold.state.parked
        if parked:
            self._failed(feed.feed.name, DatasetParked(feed.feed.name, parked))

    def _failed(self, name: str, error: PenstockError) -> None:
        kind = "halted" if isinstance(error, FeedHalted) else "stopped"
        self.failures[name] = error
        self.tell(name, f"{kind}: {error}")

    def _rest(self) -> None:
        """Nothing to read anywhere: wait a little, ready to be stopped."""
        pause_s = min(min(spec.window.every_s for spec in self.feeds), 1.0)
        self.tools.around.sleep(pause_s)


def worst(codes: Iterable[int]) -> int:
    """The exit code that says most: a feed that needs a person before one that just failed."""
    found = set(codes)
    return next((code for code in (5, 3, 4, 2, 75, 1) if code in found), 0)
