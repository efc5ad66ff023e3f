"""Files by volume: every record in exactly one part of one group, and groups by bytes and cores."""

import math

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.file_groups import FilePlan, file_groups, name_of_part
from penstock.model.ranges import OffsetRange
from penstock.protocol.loop.file_planning import (
    GROUP_BYTES,
    MOST_PARTS,
    FilePolicy,
    Volumes,
    plan_files,
)
from penstock.protocol.loop.topic_plan import RecordSizes

MEAN_BYTES = st.sampled_from([0.0, 1.0, 200.0, 5_000.0])


@st.composite
def windows(draw: st.DrawFn) -> tuple[OffsetRange, ...]:
    """Ranges of a few topics, in the order that planning gives them."""
    found = []
    for topic in draw(st.sets(st.sampled_from("abc"), min_size=1)):
        for partition in draw(st.sets(st.integers(0, 300), min_size=1, max_size=60)):
            start = draw(st.integers(0, 1_000))
            end = start + draw(st.integers(1, 100_000))
            found.append(OffsetRange(topic, f"id-{topic}", partition, start, end))
    return tuple(sorted(found))


VOLUMES = st.builds(
    Volumes,
    st.builds(RecordSizes, MEAN_BYTES, st.dictionaries(st.sampled_from("abc"), MEAN_BYTES)),
    st.sampled_from([0.0, 0.01, 0.2, 1.0, 3.0]),
)
TARGETS = st.sampled_from([0, 1, 1_000, 1_000_000, 256_000_000])
POLICIES = st.builds(FilePolicy, st.sampled_from(["auto", "partition"]), TARGETS)
CORES = st.none() | st.integers(1, 64)


@given(windows(), VOLUMES, POLICIES, CORES)
def test_every_record_is_in_one_part_of_one_group_and_in_order(
    ranges: tuple[OffsetRange, ...], volumes: Volumes, policy: FilePolicy, cores: int | None
) -> None:
    groups = file_groups(ranges, plan_files(ranges, volumes, policy, cores))
    assert tuple(covered for group in groups for covered in group.ranges) == ranges
    for group in groups:
        assert len({covered.topic_id for covered in group.ranges}) == 1
        pieces = [piece for part in group.parts for piece in part]
        assert pieces == sorted(pieces)
        assert sum(map(len, pieces)) == sum(map(len, group.ranges))
        assert not any(piece.is_empty for piece in pieces)


@given(windows(), VOLUMES, POLICIES, CORES)
def test_no_two_files_of_a_directory_have_one_name(
    ranges: tuple[OffsetRange, ...], volumes: Volumes, policy: FilePolicy, cores: int | None
) -> None:
    groups = file_groups(ranges, plan_files(ranges, volumes, policy, cores))
    names = [
        name_of_part(0, "1-1", group.number, part, "parquet")
        for group in groups
        for part in group.parts
    ]
    assert len(set(names)) == len(names)


@given(windows(), VOLUMES, st.integers(1, 64))
def test_groups_are_as_many_as_bytes_and_cores_are_worth_and_partitions_add_none(
    ranges: tuple[OffsetRange, ...], volumes: Volumes, cores: int
) -> None:
    groups = file_groups(ranges, plan_files(ranges, volumes, FilePolicy("auto"), cores))
    topics = len({covered.topic_id for covered in ranges})
    worth = math.ceil(sum(map(volumes.of, ranges)) / GROUP_BYTES)
    assert len(groups) < min(cores, worth) + topics + 1
    if topics == 1:
        assert len(groups) <= min(cores, worth)


@given(windows(), VOLUMES, CORES)
def test_by_partition_every_range_has_its_own_files(
    ranges: tuple[OffsetRange, ...], volumes: Volumes, cores: int | None
) -> None:
    plan = plan_files(ranges, volumes, FilePolicy("partition"), cores)
    assert plan == FilePlan()
    assert [group.ranges for group in file_groups(ranges, plan)] == [(one,) for one in ranges]


@given(windows(), VOLUMES, POLICIES, CORES)
def test_a_part_is_about_as_large_as_files_may_become(
    ranges: tuple[OffsetRange, ...], volumes: Volumes, policy: FilePolicy, cores: int | None
) -> None:
    """A part may be larger by one record at each end, where a record is what cannot be cut."""
    groups = file_groups(ranges, plan_files(ranges, volumes, policy, cores))
    share = volumes.file_share or 1.0
    for part in (part for group in groups for part in group.parts):
        record = max(volumes.of(piece) / len(piece) for piece in part)
        expected = sum(volumes.of(piece) for piece in part) * share
        least = max(sum(map(volumes.of, group.ranges)) * share / MOST_PARTS for group in groups)
        most = max(policy.target_bytes, least) + 2 * record * share
        assert policy.target_bytes == 0 or expected <= most * 1.01 + 1
