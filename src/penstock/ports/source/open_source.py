"""The only way to a source: its kind is a name behind the door of sources."""

from penstock.api.doors import SOURCES
from penstock.api.find import make, offer
from penstock.api.source import Source, SourceTools
from penstock.model.spec import FeedSpec


def open_source(feed: FeedSpec, tools: SourceTools) -> Source:
    """The source of one feed. Driver only; waits for nothing.

    Raises `PluginUnknown`, `PluginAmbiguous`, `ExtraMissing` or `PluginBroken`.
    """
    return make(SOURCES, offer(SOURCES, feed.source.kind), feed, tools)
