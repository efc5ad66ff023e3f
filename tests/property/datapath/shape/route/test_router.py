"""Every record is routed, refused or left out; never two of these, and never by its neighbours."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.shape.route.router import (
    ROUTE_FLOOD,
    ROUTE_MISSING,
    ROUTE_UNKNOWN,
    Router,
    group,
)
from penstock.datapath.shape.route.value_names import scalar_text
from penstock.model.names import encode_component
from penstock.model.spec import DatasetSpec, FeedSpec, RouteSpec

TEXTS = st.sampled_from(["a", "b", "c/d", "\u00e9", "e\u0301", ""]) | st.text(max_size=5)
VALUES = TEXTS | st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.just([1])
POLICIES = st.sampled_from(["create", "quarantine", "filter"])
BATCHES = st.lists(st.lists(VALUES, max_size=20), max_size=4)


@given(BATCHES, POLICIES, st.integers(0, 5))
def test_every_record_has_exactly_one_fate_and_the_right_one(
    batches: list[list[object | None]], policy: str, max_new: int
) -> None:
    """Method: a plain account of the rules, record by record, beside the router."""
    spec = FeedSpec(
        name="events",
        route=RouteSpec("field", "type"),
        datasets=(DatasetSpec("a"),),
        unknown=policy,  # type: ignore[arg-type]
    )
    router, new = Router(spec, frozenset({"b"}), max_new), set[str]()
    for values in batches:
        routed = router.assign(values)
        reasons = {bad.index: bad.reason for bad in routed.bad}
        assert [*reasons] == sorted(reasons)
        filtered = set(routed.filtered.tolist())
        for row, value in enumerate(values):
            fate = _fate(scalar_text(value), policy, max_new, new)
            code = int(routed.codes[row])
            found = routed.datasets[code] if code >= 0 else reasons.get(row, "filtered")
            assert found == fate
            assert (code >= 0) + (row in reasons) + (row in filtered) == 1


def _fate(text: str | None, policy: str, max_new: int, new: set[str]) -> str:
    """The directory of one record, or what happens to it instead."""
    if text is None:
        return ROUTE_MISSING
    name = encode_component(text)
    if text == "a" or (policy == "create" and (name == "b" or name in new)):
        return name
    if policy != "create":
        return "filtered" if policy == "filter" else ROUTE_UNKNOWN
    if len(new) == max_new:
        return ROUTE_FLOOD
    new.add(name)
    return name


@given(st.lists(st.integers(-1, 6)), st.integers(7, 9))
def test_groups_take_every_routed_row_once_and_in_order(codes: list[int], count: int) -> None:
    parts = group(np.array(codes, np.int32), count)
    assert [part.tolist() for part in parts] == [
        [row for row, code in enumerate(codes) if code == wanted] for wanted in range(count)
    ]
