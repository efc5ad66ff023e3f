"""Learned schemas of a new feed."""

from penstock.datapath.schemas.learning import Learning
from penstock.model.layout import Layout
from penstock.model.spec import FeedSpec
from penstock.testing.memory_store import MemoryStore


def learning_of(feed: FeedSpec) -> Learning:
    return Learning(MemoryStore(), Layout("f"), feed, None)
