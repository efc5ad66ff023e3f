"""What the deep audit says about offsets is true, whatever was done to the rows."""

import io
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.audit.check_file import FileOrder, check_file
from penstock.audit.explain import AreaOrder, RecordedRange, explain_area
from penstock.audit.receipt import Offsets
from penstock.model.evidence import Evidence
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.testing.memory import MemoryStore

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
        orders.append(FileOrder(final=name, evidence=seen, ranges=(RANGE,)))
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
