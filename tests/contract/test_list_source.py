"""The source in memory keeps the contract that every source keeps."""

import pytest

from penstock.api.source import Source
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.testing.contracts.source import (
    GroupsContract,
    HashesContract,
    KeepsContract,
    LagContract,
    RetentionContract,
    SourceContract,
    SourceWorld,
    StartsContract,
)
from penstock.testing.list_source import ListCluster, ListSource


class ListWorld(ListCluster):
    """A cluster in memory, and sources of it."""

    def open(self, *topics: str) -> Source:
        return ListSource(FeedSpec(name="feed", topics=topics), self)


class TestListSource(
    SourceContract,
    HashesContract,
    StartsContract,
    LagContract,
    GroupsContract,
    RetentionContract,
):
    @pytest.fixture
    def world(self) -> ListWorld:
        return ListWorld()

    def exported(self, world: SourceWorld, reader: str, topic: str) -> dict[int, int]:
        assert isinstance(world, ListWorld)
        return {partition: at for (_, partition), at in world.exported[reader].items()}


class CountingSource(ListSource):
    """A source that keeps how many windows it has read."""

    count = 0

    def recall(self, kept: str) -> None:
        self.count = int(kept or 0)

    def to_keep(self, ranges: tuple[OffsetRange, ...]) -> str:
        return str(self.count + 1)


class TestCountingSource(KeepsContract):
    @pytest.fixture
    def world(self) -> ListWorld:
        return CountingWorld()


class CountingWorld(ListWorld):
    """A cluster in memory, and sources of it that keep something."""

    def open(self, *topics: str) -> Source:
        return CountingSource(FeedSpec(name="feed", topics=topics), self)
