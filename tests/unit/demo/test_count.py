"""The independent count of the demo can fail: a doctored lake is caught, place by place."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.demo.count import Refused, Row, Tally, landed, refused_of, rows_of, tally
from penstock.demo.folders import local_folder
from penstock.testing.kafka_client import ReadRecord

BROKEN, TOMBSTONE = 7, 9


def record(offset: int) -> ReadRecord:
    value: bytes | None = json.dumps({"id": offset, "type": "click"}).encode()
    if offset == BROKEN:
        value = b'{"id": 7, "ty'
    if offset == TOMBSTONE:
        value = None
    return ReadRecord(0, offset, b"k", value, (), 0)


SOURCE = [record(offset) for offset in range(12)]
DELIVERED = [offset for offset in range(12) if offset not in (BROKEN, TOMBSTONE)]


def write(path: Path, offsets: list[int], **columns: list[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    zeros = [0] * len(offsets)
    pq.write_table(pa.table({"_partition": zeros, "_offset": offsets, **columns}), path)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Ten rows in two files, one record in the quarantine, one filtered."""
    for day, offsets in (("2026-11-09", DELIVERED[:4]), ("2026-11-10", DELIVERED[4:])):
        write(tmp_path / f"events/click/day={day}/a.parquet", offsets, id=list(offsets))
    quarantine = tmp_path / "quarantine/owner=x/dataset=y/a.parquet"
    write(quarantine, [BROKEN], value=[SOURCE[BROKEN].value], reason=["NOT_JSON"])
    return tmp_path


def counted(lake: Path) -> Tally:
    return tally(
        SOURCE,
        rows_of(local_folder(lake / "events")),
        refused_of(local_folder(lake / "quarantine")),
    )


def test_a_good_lake_is_clean(lake: Path) -> None:
    count = counted(lake)
    assert count == Tally(records=12, written=10, quarantined=1, filtered=1)
    assert count.is_clean
    assert count.sentence() == "0 lost, 0 doubled"
    assert landed(local_folder(lake / "events")) == {
        ("click", "2026-11-09"): 4,
        ("click", "2026-11-10"): 6,
    }


def first(lake: Path) -> Path:
    return lake / "events/click/day=2026-11-09/a.parquet"


def remove_a_row(lake: Path) -> None:
    write(first(lake), [0, 1, 2], id=[0, 1, 2])


def double_a_row(lake: Path) -> None:
    write(first(lake), [0, 1, 2, 2, 3], id=[0, 1, 2, 2, 3])


def copy_a_file(lake: Path) -> None:
    shutil.copy(first(lake), first(lake).with_name("b.parquet"))


def change_a_row(lake: Path) -> None:
    write(first(lake), [0, 1, 2, 3], id=[0, 1, 200, 3])


def invent_a_row(lake: Path) -> None:
    write(first(lake).with_name("b.parquet"), [99], id=[99])


def deliver_a_broken_one_too(lake: Path) -> None:
    write(first(lake).with_name("b.parquet"), [BROKEN], id=[BROKEN])


def make_a_row_of_nothing(lake: Path) -> None:
    write(first(lake).with_name("b.parquet"), [TOMBSTONE], id=[TOMBSTONE])


def empty_the_quarantine(lake: Path) -> None:
    shutil.rmtree(lake / "quarantine")


@pytest.mark.parametrize(
    ("doctor", "kind", "spots"),
    [
        (remove_a_row, "lost", ((0, 3),)),
        (double_a_row, "doubled", ((0, 2),)),
        (copy_a_file, "doubled", ((0, 0), (0, 1), (0, 2), (0, 3))),
        (change_a_row, "changed", ((0, 2),)),
        (invent_a_row, "invented", ((0, 99),)),
        (deliver_a_broken_one_too, "doubled", ((0, BROKEN),)),
        (make_a_row_of_nothing, "changed", ((0, TOMBSTONE),)),
        (empty_the_quarantine, "lost", ((0, BROKEN),)),
    ],
)
def test_a_doctored_lake_is_caught(
    lake: Path, doctor: Callable[[Path], None], kind: str, spots: tuple[tuple[int, int], ...]
) -> None:
    doctor(lake)
    count = counted(lake)
    assert not count.is_clean
    assert getattr(count, kind) == spots
    others = {"lost", "doubled", "changed", "invented"} - {kind}
    assert [getattr(count, name) for name in others] == [(), (), ()]
    assert f"{len(spots)} {kind}" in count.sentence()


def test_one_lost_and_one_doubled_do_not_cancel() -> None:
    def rows() -> Iterator[Row]:
        yield from (Row((0, offset), offset) for offset in DELIVERED if offset != 3)
        yield Row((0, 4), 4)

    refused = [Refused((0, BROKEN), SOURCE[BROKEN].value, "NOT_JSON")]
    count = tally(SOURCE, rows(), refused)
    assert (count.written, count.lost, count.doubled) == (10, ((0, 3),), ((0, 4),))


def test_files_that_no_reader_would_take_for_data_do_not_count(lake: Path) -> None:
    shutil.copytree(first(lake).parent, lake / "events/_tail/day=2026-11-09")
    shutil.copytree(first(lake).parent, lake / "events/click/.hidden")
    assert counted(lake).is_clean
