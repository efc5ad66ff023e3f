"""The source in memory keeps the contract that every source keeps."""

import pytest

from penstock.api.source import Source
from penstock.model.spec import FeedSpec
from penstock.testing.contracts.source import (
    GroupsContract,
    HashesContract,
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
