"""The proof before the decision: whatever does not add up is refused by name."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from penstock.errors import StagedSetWrong
from penstock.model.entries import Counts
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.file_groups import Cut, FilePlan
from penstock.model.manifest import QUARANTINE, RecordSet
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.window import StagedWindow, StageOrder
from penstock.protocol.loop.prove import counts_of, prove
from tests.helpers.journals import a_file, covered
from tests.simulator.kafka import TOPIC, TOPIC_ID

FIRST, SECOND = covered(0, 8), covered(5, 7, 1)
ORDER = StageOrder("feed", "1-1", "staging", (FIRST, SECOND))

# Partition 0: 0 to 6 are records, 7 is a marker. 5 is bad, 6 is filtered, the rest is written.
WRITTEN, BAD, FILTERED = [0, 1, 2, 3, 4], [5], [6]


def seen(part: OffsetRange, offsets: list[int], **fates: Evidence) -> RangeEvidence:
    """The reader's evidence of a range."""
    read = Evidence.of_positions(part.topic, part.partition, offsets)
    plain = RangeEvidence(part, OffsetSet.of(offsets), read, 0)
    return msgspec.structs.replace(plain, **fates)


def staged() -> StagedWindow:
    """A window that adds up."""
    fates = {
        "filtered": Evidence.of_positions("events", 0, FILTERED),
        "quarantined": Evidence.of_positions("events", 0, BAD),
    }
    return StagedWindow(
        files=(
            a_file("a", FIRST, [0, 1, 3]),
            a_file("b", FIRST, [2, 4]),
            a_file(QUARANTINE, FIRST, BAD),
            a_file("a", SECOND, [5, 6]),
        ),
        evidence=(seen(FIRST, [*WRITTEN, *BAD, *FILTERED], **fates), seen(SECOND, [5, 6])),
        quarantined=(RecordSet(TOPIC, TOPIC_ID, 0, "", OffsetSet.of(BAD)),),
    )


def with_files(*files: Any) -> StagedWindow:
    return msgspec.structs.replace(staged(), files=files)


def with_evidence(*evidence: RangeEvidence) -> StagedWindow:
    return msgspec.structs.replace(staged(), evidence=evidence)


def test_what_adds_up_becomes_the_content_in_the_order_of_the_plan() -> None:
    good = staged()
    backwards = msgspec.structs.replace(good, evidence=good.evidence[::-1])
    for each in (good, backwards):
        content = prove(ORDER, each)
        assert content.files == good.files
        assert content.evidence == good.evidence
        assert content.quarantined == good.quarantined
        assert counts_of(content) == Counts(read=9, written=7, quarantined=1, filtered=1)


def test_a_planned_range_that_nobody_spoke_of_is_evidence_of_no_record() -> None:
    """Markers and compacted offsets give no row, so the task has nothing to report."""
    good = staged()
    silent = StagedWindow(good.files[:3], good.evidence[:1], good.quarantined)
    content = prove(ORDER, silent)
    assert content.evidence == (good.evidence[0], RangeEvidence.empty(SECOND))


def test_a_window_without_any_record_is_a_window() -> None:
    content = prove(ORDER, StagedWindow())
    assert [each.read.count for each in content.evidence] == [0, 0]
    assert counts_of(content) == Counts()


GOOD = staged()
A, B, Q, C = GOOD.files
E0, E1 = GOOD.evidence


def swap(file: Any, offsets: list[int]) -> Any:
    """The same file with other rows."""
    evidence = Evidence.of_positions(TOPIC, file.ranges[0].partition, offsets)
    return msgspec.structs.replace(file, evidence=evidence)


WRONG: dict[str, tuple[Callable[[], StagedWindow], str]] = {
    "a range came twice": (lambda: with_evidence(E0, E1, E1), "came twice"),
    "an unplanned range": (lambda: with_evidence(E0, E1, seen(covered(0, 1, 9), [])), "planned"),
    "a longer range": (lambda: with_evidence(E0, seen(covered(5, 8, 1), [5, 6])), "planned"),
    "files and no evidence": (lambda: with_evidence(E0), "read 0, wrote 2"),
    "two files of one name": (lambda: with_files(A, B, Q, C, A), "one final name"),
    "a file outside": (
        lambda: with_files(A, B, Q, C, a_file("a", covered(8, 9), [])),
        "which the plan does not have",
    ),
    "a file across a border": (
        lambda: with_files(A, B, Q, C, a_file("a", covered(7, 9), [])),
        "which the plan does not have",
    ),
    "a file of another partition": (
        lambda: with_files(A, B, Q, C, a_file("a", covered(0, 1, 9), [])),
        "which the plan does not have",
    ),
    "a file of no range": (
        lambda: with_files(A, B, Q, msgspec.structs.replace(C, ranges=())),
        "covers 0 ranges",
    ),
    "a file of two ranges": (
        lambda: with_files(A, B, Q, msgspec.structs.replace(C, ranges=(SECOND, SECOND))),
        "covers 2 ranges",
    ),
    "a file of a part of its range": (
        lambda: with_files(msgspec.structs.replace(A, ranges=(covered(0, 4),)), B, Q, C),
        "which the plan does not have",
    ),
    "a file of another group": (
        lambda: with_files(msgspec.structs.replace(A, group=1), B, Q, C),
        "of group 1, which the plan does not have",
    ),
    "a file lost": (lambda: with_files(A, Q, C), "read 7, wrote 3"),
    "a row lost": (lambda: with_files(swap(A, [0, 1]), B, Q, C), "read 7, wrote 4"),
    "a row doubled": (lambda: with_files(swap(A, [0, 1, 3, 3]), B, Q, C), "read 7, wrote 6"),
    "a row lost and another doubled": (
        lambda: with_files(swap(A, [0, 1, 1]), B, Q, C),
        "or not the same ones",
    ),
    "two lost and two doubled": (
        lambda: with_files(swap(A, [1, 1, 2]), swap(B, [2, 4]), Q, C),
        "or not the same ones",
    ),
    "a row of the other partition": (
        lambda: with_files(
            msgspec.structs.replace(A, evidence=Evidence.of_positions("events", 1, [0, 1, 3])),
            B,
            Q,
            C,
        ),
        "or not the same ones",
    ),
    "an offset outside its range": (
        lambda: with_evidence(E0, seen(SECOND, [6, 7])),
        "gave 2 records at offsets",
    ),
    "fewer offsets than records": (
        lambda: with_evidence(E0, msgspec.structs.replace(E1, offsets=OffsetSet.of([5]))),
        "gave 2 records at offsets",
    ),
    "a bad record without a row": (lambda: with_files(A, B, C), "1 bad records and 0"),
    "a quarantine row that is not bad": (
        lambda: with_files(A, B, swap(Q, [4]), C),
        "1 bad records and 1 other",
    ),
    "a bad record that was written too": (
        lambda: with_files(A, swap(B, [2, 4, 5]), Q, C),
        "read 7, wrote 6",
    ),
    "a filtered record that was written too": (
        lambda: with_files(A, swap(B, [2, 4, 6]), Q, C),
        "read 7, wrote 6",
    ),
    "bad records that nobody named": (
        lambda: msgspec.structs.replace(GOOD, quarantined=()),
        "1 bad records, and 0 named",
    ),
    "another record named than the bad one": (
        lambda: msgspec.structs.replace(
            GOOD, quarantined=(RecordSet(TOPIC, TOPIC_ID, 0, "", OffsetSet.of([4])),)
        ),
        "or not the same",
    ),
    "the bad record named in another partition": (
        lambda: msgspec.structs.replace(
            GOOD, quarantined=(RecordSet(TOPIC, TOPIC_ID, 1, "", OffsetSet.of(BAD)),)
        ),
        "or not the same",
    ),
    "more names than bad records": (
        lambda: msgspec.structs.replace(
            GOOD, quarantined=(RecordSet(TOPIC, TOPIC_ID, 0, "", OffsetSet.of([4, 5])),)
        ),
        "1 bad records, and 2 named",
    ),
}


@pytest.mark.parametrize("name", WRONG, ids=[name.replace(" ", "-") for name in WRONG])
def test_what_does_not_add_up_is_refused_by_name(name: str) -> None:
    make, why = WRONG[name]
    with pytest.raises(StagedSetWrong) as caught:
        prove(ORDER, make())
    assert why in caught.value.why
    assert caught.value.window == "1-1"
    assert "watermark did not move" in caught.value.advice


BOTH = (FIRST, SECOND)
GATHERED = msgspec.structs.replace(ORDER, file_plan=FilePlan((2,)))


def over(file: Any, ranges: tuple[OffsetRange, ...], rows: Evidence) -> Any:
    """The same file over the ranges of a group, with these rows."""
    return msgspec.structs.replace(file, ranges=ranges, evidence=rows, group=0)


def rows_of(first: list[int], second: list[int]) -> Evidence:
    mine, others = Evidence.of_positions(TOPIC, 0, first), Evidence.of_positions(TOPIC, 1, second)
    return mine + others


def test_the_files_of_a_group_hold_the_rows_of_all_its_ranges() -> None:
    files = (
        over(A, BOTH, rows_of([0, 1, 3], [5, 6])),
        over(B, BOTH, rows_of([2, 4], [])),
        over(Q, BOTH, rows_of(BAD, [])),
    )
    assert prove(GATHERED, with_files(*files)).files == files
    lost = over(A, BOTH, rows_of([0, 1, 3], [5]))
    with pytest.raises(
        StagedSetWrong, match=r"events/0 \[0, 8\) to events/1 \[5, 7\) read 9, wrote 6"
    ):
        prove(GATHERED, with_files(lost, *files[1:]))
    with pytest.raises(StagedSetWrong, match="which the plan does not have"):
        prove(GATHERED, staged())  # files over one range each, where they were to be shared


def test_a_file_that_is_cut_ends_where_the_plan_says() -> None:
    order = msgspec.structs.replace(GATHERED, file_plan=FilePlan((2,), (Cut(0, 4),)))
    early, late = (covered(0, 4),), (covered(4, 8), SECOND)
    again = msgspec.structs.replace(A.handle, final="feed/a/later")
    files = (
        over(A, early, rows_of([0, 1, 3], [])),
        over(msgspec.structs.replace(A, handle=again), late, rows_of([4], [5, 6])),
        over(B, early, rows_of([2], [])),
        over(Q, late, rows_of(BAD, [])),
    )
    assert prove(order, with_files(*files)).files == files
    with pytest.raises(StagedSetWrong, match="which the plan does not have"):
        prove(order, with_files(over(A, (covered(0, 5),), rows_of([0, 1, 3], [])), *files[1:]))
