"""What metrics and the API say of a story: read as a server does, without one."""

from penstock.api.reporter import Metrics
from penstock.model.spec import FeedSpec
from penstock.serve.feed_facts import FeedFacts, LakeFacts
from penstock.serve.feed_reader import FeedReader
from penstock.serve.feed_view import MetricOptions
from penstock.serve.metric_values import metrics_of
from tests.helpers.list_story import FEED, Story

Labels = dict[str, str]
Figures = dict[str, float]  # by the text that a query would have


def reader_of(story: Story, feed: FeedSpec = FEED) -> FeedReader:
    """A reader that has folded nothing; a second of tasks costs 1."""
    return FeedReader(feed, lambda _name: story.journal(), lambda used: used.task_s, "EUR")


def facts_of(story: Story, reader: FeedReader | None = None) -> FeedFacts:
    """All that is known of the feed now, with what its last run has counted."""
    live = story.figures.of("feed").figures()
    return (reader or reader_of(story)).read(story.clock.now(), live)


def figures_of(
    story: Story, options: MetricOptions | None = None, reader: FeedReader | None = None
) -> Figures:
    """Every sample by its name and its labels but for the feed's."""
    lake = LakeFacts(story.clock.now(), (facts_of(story, reader),))
    return by_name(metrics_of(lake, options or MetricOptions()))


def by_name(metrics: Metrics) -> Figures:
    """Every sample, as `lag_records` or `windows{outcome="failed"}`."""
    found: Figures = {}
    for metric in metrics.metrics:
        for sample in metric.samples:
            labels = {key: value for key, value in sample.labels.items() if key != "feed"}
            inner = ",".join(f'{key}="{labels[key]}"' for key in sorted(labels))
            name = metric.name.removeprefix("penstock_") + sample.suffix
            key = f"{name}{{{inner}}}" if inner else name
            assert key not in found, f"{key} twice"
            found[key] = sample.value
    return found
