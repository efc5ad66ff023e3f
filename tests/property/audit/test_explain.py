"""What the deep audit says about offsets is true, whatever was done to the rows."""

import io
from collections import Counter
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.audit import explain
from penstock.audit.check_file import FileOrder, check_file
from penstock.audit.explain import AreaOrder, RecordedRange, explain_area
from penstock.audit.receipt import Offsets
from penstock.datapath.formats.parquet.parquet import FORMAT as PARQUET
from penstock.model.evidence import Evidence
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.testing.memory_store import MemoryStore

END = 40
RANGE = OffsetRange("t", "id", 0, 0, END)
NAMES = ("a", "b", "c")
FATES = st.lists(st.sampled_from([*NAMES, "filtered", "empty"]), min_size=END, max_size=END)
HANDS = st.lists(
    st.tuples(
        st.sampled_from(["lose", "double", "move", "add"]),
        st.integers(0, END + 5),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
    ),
    max_size=5,
)


def write(store: MemoryStore, name: str, offsets: list[int]) -> None:
    table = pa.table(
        {
            "_topic": pa.array(["t"] * len(offsets), pa.string()),
            "_partition": pa.array([0] * len(offsets), pa.int32()),
            "_offset": pa.array(offsets, pa.int64()),
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out)
    store.create(name, out.getvalue())


def doctored(
    true: dict[str, list[int]], hands: list[tuple[str, int, str, str]]
) -> dict[str, Counter[int]]:
    """The rows of each file after somebody's hands were in them."""
    found = {name: Counter(offsets) for name, offsets in true.items()}
    for what, offset, name, other in hands:
        if what in ("lose", "move") and found[name][offset]:
            found[name][offset] -= 1
            found[other][offset] += what == "move"
        elif what == "add" or (what == "double" and found[name][offset]):
            found[name][offset] += 1
    return {name: +counts for name, counts in found.items()}


def said(offsets: tuple[Offsets, ...], fate: str, *, among: bool) -> set[int]:
    runs = [run for o in offsets if o.fate == fate and o.among == among for run in o.runs]
    return {at for start, end in runs for at in range(start, end)}


@settings(max_examples=150, deadline=None)
@given(FATES, HANDS)
def test_what_is_said_to_be_missing_doubled_or_foreign_is_just_that(
    fates: list[str], hands: list[tuple[str, int, str, str]]
) -> None:
    """Exact words are exactly true, the others hold the truth; one or two rows are told exactly."""
    true = {name: [at for at, fate in enumerate(fates) if fate == name] for name in NAMES}
    found = doctored(true, hands)
    store = MemoryStore()
    orders = []
    for name in NAMES:
        write(store, name, sorted(found[name].elements()))
        seen = Evidence.of_positions("t", 0, true[name])
        orders.append(FileOrder(final=name, format=PARQUET, evidence=seen, ranges=(RANGE,)))
    wrong = [order.final for order in orders if not check_file(store, order).has_rows_of(order)]
    assert wrong == [name for name in NAMES if found[name] != Counter(true[name])]
    read = OffsetSet.of(at for at, fate in enumerate(fates) if fate != "empty")
    area = AreaOrder((RecordedRange(RANGE, read),), tuple(orders), tuple(wrong))
    answers = {each.final: each.offsets for each in explain_area(store, area)}
    together = said(answers.pop("", ()), "missing", among=False)
    assert set(answers) == set(wrong)
    for name, told in answers.items():
        lost, extra = set(true[name]) - set(found[name]), set(found[name]) - set(true[name])
        assert said(told, "doubled", among=False) == {at for at, n in found[name].items() if n > 1}
        missing, foreign = (said(told, fate, among=False) for fate in ("missing", "foreign"))
        assert missing <= lost
        assert foreign <= extra
        is_exact = not any(offsets.among for offsets in told) and not together
        if is_exact:
            assert (missing, foreign) == (lost, extra)
        elif not together and len(lost) >= len(extra):
            assert lost <= missing | said(told, "missing", among=True)
        if len(lost) + len(extra & set(read)) <= 2:
            assert is_exact or together


Rows = list[tuple[int, int]]  # offset, and the number of the row in its record
MANY = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6), min_size=8, max_size=8)
ROW_HANDS = st.lists(
    st.tuples(
        st.sampled_from(["lose", "double", "move", "add"]),
        st.tuples(st.integers(0, 8), st.integers(0, 7)),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
    ),
    max_size=4,
)


def write_rows(store: MemoryStore, name: str, rows: Rows) -> None:
    table = pa.table(
        {
            "_topic": pa.array(["t"] * len(rows), pa.string()),
            "_partition": pa.array([0] * len(rows), pa.int32()),
            "_offset": pa.array([offset for offset, _ in rows], pa.int64()),
            "_row": pa.array([row for _, row in rows], pa.int32()),
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out)
    store.create(name, out.getvalue())


@settings(max_examples=150, deadline=None)
@given(MANY, ROW_HANDS, st.integers(1, 8), st.sampled_from([0, 10, 1_000_000]))
def test_it_is_true_also_where_records_are_several_rows_and_not_all_their_numbers_are_known(
    fates: list[list[str]],
    hands: list[tuple[str, tuple[int, int], str, str]],
    named: int,
    most: int,
) -> None:
    """`named` row numbers are recorded, and `most` positions may be tried."""
    true: dict[str, Rows] = {
        name: [
            (at, row) for at, rows in enumerate(fates) for row, to in enumerate(rows) if to == name
        ]
        for name in NAMES
    }
    counts = {name: Counter(rows) for name, rows in true.items()}
    for what, at, name, other in hands:
        if what in ("lose", "move") and counts[name][at]:
            counts[name][at] -= 1
            counts[other][at] += what == "move"
        elif what == "add" or (what == "double" and counts[name][at]):
            counts[name][at] += 1
    found = {name: +each for name, each in counts.items()}
    store = MemoryStore()
    orders = []
    for name in NAMES:
        write_rows(store, name, sorted(found[name].elements()))
        seen = Evidence.total(Evidence.of_positions("t", 0, [at], row) for at, row in true[name])
        orders.append(FileOrder(final=name, format=PARQUET, evidence=seen, ranges=(RANGE,)))
    wrong = [order.final for order in orders if not check_file(store, order).has_rows_of(order)]
    rows = tuple(sorted({row for each in fates for row in range(1, len(each))})[:named])
    read = RecordedRange(RANGE, OffsetSet.of(range(len(fates))), rows)
    area = AreaOrder((read,), tuple(orders), tuple(wrong))
    with (
        patch.object(explain, "MOST_ROW_NUMBERS", named),
        patch.object(explain, "MOST_POSITIONS", most),
    ):
        answers = {each.final: each.offsets for each in explain_area(store, area)}
    together = said(answers.pop("", ()), "missing", among=False)
    assert set(answers) == set(wrong)
    for name, told in answers.items():
        lost, extra = set(true[name]) - set(found[name]), set(found[name]) - set(true[name])
        twice = {at for (at, _), n in found[name].items() if n > 1}
        assert said(told, "doubled", among=False) == twice
        missing, foreign = (said(told, fate, among=False) for fate in ("missing", "foreign"))
        assert missing <= {at for at, _ in lost}
        assert foreign <= {at for at, _ in extra}
        if not together and len(lost) >= len(extra):
            assert {at for at, _ in lost} <= missing | said(told, "missing", among=True)
