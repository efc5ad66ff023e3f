"""Where a reset goes: what a person typed, what Kafka holds, and what was delivered."""

import argparse
import time

import pytest

from penstock.care.errors import ResetRefused
from penstock.care.reset_targets import (
    Move,
    Target,
    TopicChoice,
    check_moves,
    lost_ranges,
    moves_to,
    parse_choice,
)
from penstock.cli.offset_arguments import ago, at_time, shift_by, to_offset, topic_choice
from penstock.model.ranges import TopicPartition
from penstock.model.window import Available, PartitionOffsets, TopicOffsets
from tests.helpers.journals import BEGINNING, a_window, covered, told
from tests.simulator.kafka import TOPIC, TOPIC_ID

FIRST, SECOND = TopicPartition(TOPIC_ID, 0), TopicPartition(TOPIC_ID, 1)
# Partition 0 started at 0 and was delivered up to 10; partition 1 started at 5 and was not read.
STATE = told(*BEGINNING, a_window(covered(0, 10)))


def kafka(first: tuple[int, int], second: tuple[int, int] = (5, 50)) -> Available:
    held = {0: PartitionOffsets(*first), 1: PartitionOffsets(*second)}
    return Available("cluster", (TopicOffsets(TOPIC, TOPIC_ID, held),))


def moved(target: Target, first: tuple[int, int] = (0, 100), in_time: int = 0) -> Move:
    """The move of partition 0."""
    return moves_to(STATE, kafka(first), [FIRST], target, {FIRST: in_time})[0]


@pytest.mark.parametrize(
    ("target", "in_time", "to", "skipped"),
    [
        (Target("latest"), 0, 100, 90),
        (Target("time", 1_000), 40, 40, 30),
        (Target("offset", 12), 0, 12, 2),
        (Target("shift", 5), 0, 15, 5),
        (Target("shift", 0), 0, 10, 0),
    ],
)
def test_each_verb_gives_its_offset_and_what_it_skips(
    target: Target, in_time: int, to: int, skipped: int
) -> None:
    move = moved(target, in_time=in_time)
    assert (move.from_offset, move.to_offset, move.skipped, move.read_again) == (10, to, skipped, 0)
    assert not move.is_refused
    assert move.note == ""


@pytest.mark.parametrize(
    "target", [Target("earliest"), Target("offset", 9), Target("shift", -1), Target("time", 1)]
)
def test_going_back_over_delivered_offsets_is_refused_and_says_where_to_go(target: Target) -> None:
    move = moved(target)
    assert move.is_refused
    assert move.note == "refused: delivered up to 10"
    with pytest.raises(ResetRefused, match="`--topic T:0,1`") as raised:
        check_moves("web", [move])
    assert f"{TOPIC}/0" in str(raised.value)


def test_one_refused_partition_refuses_the_whole_reset() -> None:
    both = moves_to(STATE, kafka((0, 100)), [FIRST, SECOND], Target("offset", 7), {})
    assert [move.is_refused for move in both] == [True, False]
    with pytest.raises(ResetRefused) as raised:
        check_moves("web", both)
    assert len(raised.value.places) == 1
    check_moves("web", both[1:])


def test_a_target_outside_the_log_is_moved_to_its_nearest_end_and_that_is_said() -> None:
    beyond = moved(Target("offset", 500))
    assert (beyond.to_offset, beyond.note) == (100, "500 is after the log, which ends at 100")
    before = moved(Target("shift", 3), first=(20, 100))
    assert before.to_offset == 20
    assert "13 is before the log, which starts at 20" in before.note


def test_skipping_over_a_gap_tells_how_much_of_it_is_gone_already() -> None:
    move = moved(Target("offset", 40), first=(30, 100))
    assert (move.skipped, move.note) == (30, "20 of the skipped offsets are no longer in Kafka")


def test_what_was_skipped_before_can_be_read_after_all() -> None:
    """Partition 1 was never read: any offset that Kafka holds is allowed."""
    move = moves_to(STATE, kafka((0, 100), (2, 50)), [SECOND], Target("earliest"), {})[0]
    assert (move.from_offset, move.to_offset, move.read_again) == (5, 2, 3)
    check_moves("web", [move])


def test_lost_ranges_lie_between_the_watermark_and_the_start_of_the_log() -> None:
    lost = lost_ranges(STATE, kafka((25, 100), (5, 50)))
    assert lost == (covered(10, 25),)
    assert lost_ranges(STATE, kafka((10, 100), (0, 50))) == ()


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("events", TopicChoice("events")),
        ("a.b-c_d:0", TopicChoice("a.b-c_d", (0,))),
        ("events:3,1,3", TopicChoice("events", (1, 3))),
        ("events:", None),
        (":0", None),
        ("events:0,", None),
        ("events:-1", None),
        ("events:²", None),
        ("", None),
    ],
)
def test_topics_are_chosen_as_in_kafkas_own_tool(text: str, choice: TopicChoice | None) -> None:
    assert parse_choice(text) == choice


def test_a_choice_without_partitions_covers_all_of_its_topic_only() -> None:
    assert TopicChoice("events").covers("events", 7)
    assert not TopicChoice("events").covers("other", 7)
    assert not TopicChoice("events", (1,)).covers("events", 7)


def test_times_without_a_zone_are_utc() -> None:
    wanted = Target("time", 1_793_491_200_000)
    assert at_time("2026-11-01T00:00:00Z") == wanted
    assert at_time("2026-11-01T00:00:00.000") == wanted
    assert at_time("2026-11-01T01:00:00+01:00") == wanted


@pytest.mark.parametrize("text", ["90m", "PT1H30M", "PT5400S", "P0DT90M"])
def test_durations_are_ours_or_kafkas(text: str) -> None:
    expected = (time.time() - 5_400) * 1000
    assert abs(ago(text).number - expected) < 5_000


def test_numbers_may_be_negative_only_where_that_means_something() -> None:
    assert to_offset("12") == Target("offset", 12)
    assert shift_by("-12") == Target("shift", -12)
    for read, text in (
        (to_offset, "-1"), (to_offset, "99999999999999999999"), (shift_by, "1.5"), (ago, "P"),
        (ago, "soon"), (at_time, "yesterday"), (topic_choice, "a:b"),
    ):  # fmt: skip
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)
