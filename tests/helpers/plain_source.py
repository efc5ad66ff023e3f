"""A source over a list in memory that can do no more than every source must."""

from penstock.api.source import ReadRequest, Task
from penstock.model.spec import FeedSpec
from penstock.model.window import Available
from penstock.testing.list_source import ListCluster, ListSource


class PlainSource:
    """A source that can do no more than every source must."""

    kind = "plain"

    def __init__(self, feed: FeedSpec, cluster: ListCluster) -> None:
        self._inner = ListSource(feed, cluster)

    def look(self) -> Available:
        return self._inner.look()

    def read(self, request: ReadRequest, task: Task) -> list[bytes]:
        return self._inner.read(request, task)

    def close(self) -> None:
        self._inner.close()
