"""The offsets of a reset by a group or by a file; a partition that has none is named."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from penstock.care.reset_targets import Target, moves_to
from penstock.cli.errors import UsageMistake
from penstock.cli.reset_offsets import given_offsets
from penstock.model.ranges import TopicPartition
from penstock.model.spec import FeedSpec
from penstock.model.window import Available, PartitionOffsets, Place, TopicOffsets
from tests.helpers.journals import BEGINNING, told
from tests.simulator.kafka import CLUSTER, TOPIC, TOPIC_ID

FEED = FeedSpec(name="events", topics=(TOPIC,))
STATE = told(*BEGINNING)
PLACES = sorted(
    TopicPartition(topic_id, partition)
    for topic_id, partitions in STATE.partitions.items()
    for partition in partitions
)


@dataclass(frozen=True)
class Groups:
    """A source that knows how far one group is."""

    offsets: Mapping[Place, int] = field(default_factory=dict)

    def look(self) -> Available:
        held = {place.partition: PartitionOffsets(2, 50) for place in PLACES}
        return Available(CLUSTER, (TopicOffsets(TOPIC, TOPIC_ID, held),))

    def group_offsets(self, _group: str) -> Mapping[Place, int]:
        return self.offsets


def test_a_group_gives_the_targets_and_the_log_its_ends() -> None:
    source = Groups({(TOPIC, place.partition): 60 for place in PLACES})
    target = Target("group", word="old")
    given = given_offsets(source, FEED, STATE, PLACES, target)
    assert set(given.values()) == {60}
    moves = moves_to(STATE, source.look(), PLACES, target, given)
    assert {move.to_offset for move in moves} == {50}
    assert all("60 is after the log, which ends at 50" in move.note for move in moves)


def test_a_partition_without_an_offset_is_named() -> None:
    with pytest.raises(UsageMistake, match=f"consumer group 'old' has no offset for {TOPIC}/0"):
        given_offsets(Groups(), FEED, STATE, PLACES, Target("group", word="old"))


def test_a_file_gives_the_targets_or_its_wrong_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    lines = [f"{TOPIC},{place.partition},{7 + place.partition}\n" for place in PLACES]
    file.write_text("".join(lines))
    target = Target("file", word=str(file))
    given = given_offsets(Groups(), FEED, STATE, PLACES, target)
    assert given == {place: 7 + place.partition for place in PLACES}
    file.write_text(f"nonsense\n{TOPIC},0,7\n{TOPIC},0,8\n")
    with pytest.raises(
        UsageMistake, match=f"line 1 is 'nonsense'; line 3 names {TOPIC}/0 a second time"
    ):
        given_offsets(Groups(), FEED, STATE, PLACES, target)
    file.write_text("".join(f"{line}\n" for line in range(9)))
    with pytest.raises(UsageMistake, match="line 5 is '4'; and 4 more"):
        given_offsets(Groups(), FEED, STATE, PLACES, target)


@pytest.mark.parametrize("kind", ["earliest", "latest"])
def test_nobody_is_asked_for_the_ends_of_the_log(kind: str) -> None:
    target = Target(kind)  # type: ignore[arg-type]
    assert given_offsets(Groups(), FEED, STATE, PLACES, target) == {}
