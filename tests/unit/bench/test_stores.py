"""The bench of stores: ratios the right way round, and targets that can be missed."""

from bench.figures import Turn
from bench.stores import ON_DISK, TITLES, Requests, verdicts

TURNS = {
    ON_DISK: [Turn(1_000, 1.0, 2.0, 7, 12, 99)] * 3,
    TITLES["s3"]: [Turn(1_000, 4.0, 3.0, 7, 12, 99)] * 3,
}


def test_more_processor_time_is_a_ratio_above_one() -> None:
    cpu, requests = verdicts(TURNS, Requests({"PutObject": 5}, 36, 12), 12, "s3")
    assert (cpu.found, cpu.is_reached) == (1.5, True)
    assert (requests.found, requests.is_reached) == (3.0, True)


def test_a_target_can_be_missed() -> None:
    slow = TURNS | {TITLES["s3"]: [Turn(1_000, 4.0, 3.4, 7, 12, 99)] * 3}
    found = verdicts(slow, Requests({}, 49, 12), 12, "s3")
    assert [each.is_reached for each in found] == [False, False]


def test_hdfs_is_asked_for_processor_time_only() -> None:
    turns = TURNS | {TITLES["hdfs"]: [Turn(1_000, 4.0, 3.1, 7, 12, 99)] * 3}
    [cpu] = verdicts(turns, None, 12, "hdfs")
    assert (cpu.found, cpu.is_reached) == (1.55, False)
