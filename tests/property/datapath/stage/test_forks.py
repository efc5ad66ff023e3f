"""Forks and arrays in any mixture: the same rows as a simple loop over records gives."""

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.convert_spec import Condition
from penstock.model.fork import FORK_ROWS, ForkSpec
from penstock.model.manifest import QUARANTINE
from penstock.model.spec import DatasetSpec, DecodeSpec
from tests.helpers.forked_numbers import FEED, SCHEMAS
from tests.helpers.shredding import NOON_MS, Shredded, shred

EVENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["number", "text", "unheard", None]),
        "at": st.sampled_from([NOON_MS, None]),
        "n": st.one_of(st.none(), st.integers(0, 12)),
    }
)
DOCUMENTS = st.one_of(
    EVENTS,
    st.lists(EVENTS, max_size=4),
    st.lists(st.one_of(EVENTS, st.just(7)), max_size=3),
    st.sampled_from([7, "text"]),
)
CONDITIONS = st.sampled_from(
    [
        Condition("n", multiple_of=2),
        Condition("n", multiple_of=3),
        Condition("n", least=5, most=9),
        Condition("n", null=True),
        Condition("type", one_of=("text", "unheard")),
        Condition("n", one_of=(1, 7, None)),
    ]
)
FORKS = st.builds(
    ForkSpec,
    st.sampled_from(["even", "odd", "third", "number"]),
    st.lists(CONDITIONS, min_size=1, max_size=2).map(tuple),
    st.sampled_from([(), (), ("number",), ("text", "number")]),
)
Fate = tuple[str, int, int]  # dataset or what became of it, offset, number of the row


def holds(condition: Condition, value: Any) -> bool:
    """One value, one question after the other."""
    if condition.null is not None and condition.null != (value is None):
        return False
    if condition.one_of and value not in condition.one_of:
        return False
    is_number = isinstance(value, int)
    if condition.least is not None and not (is_number and value >= condition.least):
        return False
    if condition.most is not None and not (is_number and value <= condition.most):
        return False
    return condition.multiple_of is None or (is_number and value % condition.multiple_of == 0)


def fates_of(event: Any, offset: int, row: int, forks: tuple[ForkSpec, ...]) -> list[Fate]:
    """What must become of one event and its forks."""
    if not isinstance(event, dict) or event["type"] is None:
        return [(QUARANTINE, offset, row)]
    is_wanted = event["type"] != "unheard"
    dataset = event["type"] if is_wanted else ""
    places = [(dataset, row)]
    for place, fork in enumerate(forks, start=1):
        is_for = not fork.datasets or dataset in fork.datasets
        if is_for and all(holds(each, event[each.path]) for each in fork.when):
            places.append((fork.to, row + place * FORK_ROWS))
    found = []
    for target, number in places:
        has_time = event["at"] is not None
        found.append((target and (target if has_time else QUARANTINE), offset, number))
    return found


def wanted(documents: list[Any], forks: tuple[ForkSpec, ...], spread: bool) -> list[Fate]:
    fates: list[Fate] = []
    for offset, document in enumerate(documents):
        is_list = isinstance(document, list)
        if spread and is_list and all(isinstance(each, dict) for each in document):
            for row, event in enumerate(document):
                fates += fates_of(event, offset, row, forks)
            if not document:
                fates.append(("", offset, 0))
        else:
            fates += fates_of(document, offset, 0, forks)
    return sorted(fates)


def seen(done: Shredded) -> list[Fate]:
    datasets = {file.dataset for file in done.report.files}
    return sorted(
        (dataset, row["_offset"], row["_row"]) for dataset in datasets for row in done.rows(dataset)
    )


@settings(max_examples=150, deadline=None)
@given(
    st.lists(DOCUMENTS, min_size=1, max_size=12),
    st.lists(FORKS, min_size=1, max_size=3, unique=True).map(tuple),
    st.booleans(),
    st.integers(1, 12),
)
def test_every_row_has_the_fate_that_a_loop_gives_it(
    documents: list[Any], forks: tuple[ForkSpec, ...], spread: bool, batch_rows: int
) -> None:
    feed = msgspec.structs.replace(
        FEED,
        forks=forks,
        decode=DecodeSpec(spread=spread),
        unknown="filter",
        datasets=(DatasetSpec("number"), DatasetSpec("text")),
    )
    values = [json.dumps(document).encode() for document in documents]
    done = shred(feed, values, SCHEMAS, batch_rows=batch_rows)
    fates = wanted(documents, forks, spread)
    assert seen(done) == [fate for fate in fates if fate[0]]
    assert done.report.evidence.filtered.count == sum(not fate[0] for fate in fates)
    assert done.report.evidence.all_rows.count == len(fates)
