"""Settings that may be changed in the life of a feed, but not in silence: rows mean something else.

The journal records them with the first window that has them. Until that window a start tells what
has changed; `check` tells the same.
"""

from penstock.datapath.driver.shape_of_feed import shape_of
from penstock.feeds.run_events import Event
from penstock.model.spec import FeedSpec
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.written_directories import changed_settings

_MEANS = {
    "route": "records go to the datasets that it names now; datasets of the former route stay "
    "beside them and get no more",
    "time.field": "days and hours of new rows are those of another time",
    "time.zone": "days and hours of new rows are those of another zone, in the same directories",
    "partition": "new datasets get these directories, and where a directory keeps its name its "
    "values come from another place",
}


def change_events(feed: FeedSpec, state: FeedState) -> list[Event]:
    """An event per setting that the journal has recorded with another value."""
    return [
        Event(
            feed.name,
            "setting_changed",
            sentence_of(name, state.settings[name], now),
            {"setting": name, "before": state.settings[name], "now": now},
            level="warning",
        )
        for name, now in changed_settings(shape_of(feed), state).items()
        if name in state.settings
    ]


def sentence_of(name: str, before: str, now: str) -> str:
    """What has changed, and what it means for the rows."""
    means = _MEANS[name.rpartition(".")[2] if name.startswith("datasets.") else name]
    return (
        f"`{name}` was {before} and is {now} since the last window: {means}. "
        "What was delivered before is not changed"
    )
