"""An audit reads any source again with what every source can do."""

import pytest

from penstock.api.source import Source, SourceUnavailable
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.ports.source.source_recheck import SourceRecheck
from penstock.testing.list_source import ListCluster, ListSource

FEED = FeedSpec(name="feed", topics=("a", "b"))


@pytest.fixture
def cluster() -> ListCluster:
    cluster = ListCluster()
    for topic in ("a", "b"):
        cluster.create_topic(topic)
        cluster.append(topic, 0, *(b"%d" % number for number in range(9)))
    return cluster


def ranges(source: Source, topic: str, *bounds: tuple[int, int]) -> list[OffsetRange]:
    ids = {each.topic: each.topic_id for each in source.look().topics}
    return [OffsetRange(topic, ids[topic], 0, start, end) for start, end in bounds]


def test_ranges_are_counted_each_for_itself_whatever_lies_between(cluster: ListCluster) -> None:
    source = ListSource(FEED, cluster)
    again = SourceRecheck(lambda: source)
    wanted = ranges(source, "a", (0, 2), (2, 5), (7, 8))
    found = again.read(tuple(wanted), with_offsets=True)
    assert [found[each].read.count for each in wanted] == [2, 3, 1]
    assert found[wanted[2]].offsets.runs == ((7, 8),)
    both = (*wanted, *ranges(source, "b", (3, 4)))
    alike = again.read(both, with_offsets=False)
    assert [alike[each].content_sum for each in wanted] == [
        found[each].content_sum for each in wanted
    ]
    assert alike[both[-1]].read.count == 1


def test_only_topics_that_are_asked_for_are_told(cluster: ListCluster) -> None:
    again = SourceRecheck(lambda: ListSource(FEED, cluster))
    seen = again.look(["b", "gone"])
    assert (seen.cluster_id, [each.topic for each in seen.topics]) == (cluster.cluster_id, ["b"])
    assert again.name == "the source list"


def test_a_record_that_is_gone_meanwhile_is_no_difference(cluster: ListCluster) -> None:
    """Goal: it says that nothing was compared. Method: a read that fails."""
    source = ListSource(FEED, cluster)
    wanted = ranges(source, "a", (0, 5))
    cluster.lose("a", 0, 3)
    with pytest.raises(SourceUnavailable, match="The source list did not answer: The job"):
        SourceRecheck(lambda: source).read(tuple(wanted), with_offsets=False)


def test_a_source_that_nobody_asked_is_not_opened() -> None:
    def never() -> Source:
        raise AssertionError("it was opened")

    SourceRecheck(never).close()
