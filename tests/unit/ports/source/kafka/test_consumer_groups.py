"""A few names in turn, and others for other settings and other lives of a topic."""

from penstock.model.ranges import OffsetRange
from penstock.ports.source.kafka.consumer_groups import TURNS, ReadingGroups

OPTIONS = {"bootstrap.servers": "here:9092"}


def a_range(start: int, topic_id: str = "first") -> tuple[OffsetRange, ...]:
    return (OffsetRange("t", topic_id, 0, start, start + 10),)


def test_names_take_turns_and_do_not_grow_in_number() -> None:
    groups = ReadingGroups()
    names = [groups.next(dict(OPTIONS), a_range(10 * n)) for n in range(5 * TURNS)]
    assert len(set(names)) == TURNS
    assert all(len(set(names[n : n + TURNS])) == TURNS for n in range(4 * TURNS))


def test_another_life_of_a_topic_never_gets_a_name_of_the_first() -> None:
    groups = ReadingGroups()
    first = {groups.next(OPTIONS, a_range(10 * n)) for n in range(20)}
    second = {groups.next(OPTIONS, a_range(10 * n, "second")) for n in range(20)}
    assert not first & second


def test_other_settings_have_other_names() -> None:
    """Spark refuses two settings under one name."""
    groups = ReadingGroups()
    plain = {groups.next(OPTIONS, a_range(10 * n)) for n in range(20)}
    with_more = {groups.next({**OPTIONS, "a": "b"}, a_range(10 * n)) for n in range(20)}
    assert not plain & with_more
