"""A run without `--once`, whose turns are taken on the thread of the test."""

from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.feed_turns import FeedTurns
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.spec import FeedSpec
from penstock.testing.list_source import ListSource
from tests.helpers.list_story import OpensListed, Story
from tests.helpers.turning import open_all, turn_all


class LiveRun:
    """Some feeds that read from the cluster of a story; the first of them is `feed`."""

    def __init__(self, story: Story, *feeds: FeedSpec, source: OpensListed = ListSource) -> None:
        self.story = story
        self.said: list[Event] = []
        tools = FeedTools(
            lambda spec: source(spec, self.story.cluster),
            self.story.store,
            self.story.clock.around(),
        )
        self.runner = Runner(feeds, tools, self.said.append, lambda: False, RunSpec())

    @property
    def turns(self) -> FeedTurns:
        return self.runner.turns[0]

    def told(self) -> list[str]:
        return [event.name for event in self.said if event.feed == "feed"]

    def go_on(self, seconds: float = 0.0, turns: int = 8) -> None:
        open_all(self.runner)
        self.story.clock.passes(seconds)
        for _ in range(turns):
            turn_all(self.runner)

    def code(self) -> int:
        """The exit code if the run ended now."""
        return max((error.exit_code for error in self.runner.failures.values()), default=0)
