"""Routes: from a raw value to a dataset, to the quarantine, or away."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from penstock.datapath.shape.route.router import (
    NOT_ROUTED,
    ROUTE_FLOOD,
    ROUTE_MISSING,
    ROUTE_UNKNOWN,
    Routed,
    Router,
    group,
    header_values,
)
from penstock.model.bad_records import BadRecord
from penstock.model.spec import DatasetSpec, FeedSpec, RouteSpec

BY_TYPE = FeedSpec(name="events", route=RouteSpec("field", "type"))
STRICT = FeedSpec(
    name="events",
    route=RouteSpec("header", "type"),
    datasets=(DatasetSpec("click"), DatasetSpec("page/view")),
    unknown="quarantine",
)
NOTHING_KNOWN: frozenset[str] = frozenset()


def rows(routed: Routed) -> list[str | None]:
    """The dataset of each row."""
    assert routed.codes.dtype == np.int32
    return [None if code < 0 else routed.datasets[code] for code in routed.codes.tolist()]


def test_the_value_names_the_dataset() -> None:
    routed = Router(BY_TYPE, NOTHING_KNOWN).assign(["view", "click", "view"])
    assert routed.datasets == ["view", "click"]
    assert routed.codes.tolist() == [0, 1, 0]
    assert routed.bad == []
    assert routed.filtered.tolist() == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, "7"),
        (-7, "-7"),
        (7.5, "7.5"),
        (True, "true"),
        (False, "false"),
        (b"click", "click"),
        ("true", "true"),
        ("page view", "page%20view"),
        ("../../x", "%2E.%2F..%2Fx"),
        ("a/b", "a%2Fb"),
        (".hid", "%2Ehid"),
        ("_hid", "%5Fhid"),
        ("CON", "CON"),
        ("%2e", "%252e"),
        ("\0", "%00"),
        ("\ud800", "%ED%A0%80"),
        ("\u00e9", "%C3%A9"),
        ("e\u0301", "e%CC%81"),
    ],
)
def test_any_scalar_becomes_a_visible_directory(value: object, expected: str) -> None:
    assert rows(Router(BY_TYPE, NOTHING_KNOWN).assign([value])) == [expected]


def test_the_same_text_is_the_same_dataset_and_twins_are_two() -> None:
    values = [1, "1", True, "true", "\u00e9", "e\u0301", 1.0]
    routed = Router(BY_TYPE, NOTHING_KNOWN).assign(values)
    assert routed.codes.tolist() == [0, 0, 1, 1, 2, 3, 4]
    assert routed.datasets == ["1", "true", "%C3%A9", "e%CC%81", "1.0"]


def test_a_name_of_300_bytes_is_cut_and_stays_its_own() -> None:
    routed = Router(BY_TYPE, NOTHING_KNOWN).assign(["x" * 300, "x" * 301])
    assert len(routed.datasets) == 2
    assert all(len(name) <= 120 for name in routed.datasets)


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (None, "field type: absent or null"),
        ("", "field type: empty"),
        (b"", "field type: empty"),
        (b"\xff", "field type: not a value that can name a dataset"),
        ([1], "field type: not a value that can name a dataset"),
        ({"a": 1}, "field type: not a value that can name a dataset"),
        (float("nan"), "field type: not a value that can name a dataset"),
    ],
)
def test_a_record_without_a_usable_value_goes_to_the_quarantine(value: object, detail: str) -> None:
    routed = Router(BY_TYPE, NOTHING_KNOWN).assign(["a", value, "b"])
    assert rows(routed) == ["a", None, "b"]
    assert routed.bad == [BadRecord(1, ROUTE_MISSING, detail)]
    assert routed.filtered.tolist() == []


def test_a_number_that_python_does_not_print_cannot_name_a_dataset() -> None:
    routed = Router(BY_TYPE, NOTHING_KNOWN).assign([10**5000])
    assert [bad.reason for bad in routed.bad] == [ROUTE_MISSING]


def test_undeclared_datasets_go_to_the_quarantine_when_that_is_the_policy() -> None:
    """A dataset that merely exists is not declared."""
    routed = Router(STRICT, frozenset({"old"})).assign(["click", "old", None, "page/view"])
    assert rows(routed) == ["click", None, None, "page%2Fview"]
    assert [(bad.index, bad.reason) for bad in routed.bad] == [
        (1, ROUTE_UNKNOWN),
        (2, ROUTE_MISSING),
    ]
    assert routed.bad[0].detail == "header type: not a declared dataset"
    assert routed.filtered.tolist() == []


def test_undeclared_datasets_are_left_out_when_that_is_the_policy() -> None:
    spec = FeedSpec(name="events", datasets=STRICT.datasets, unknown="filter")
    routed = Router(spec, NOTHING_KNOWN).assign(["old", "click", "", "older", "old"])
    assert rows(routed) == [None, "click", None, None, None]
    assert [(bad.index, bad.reason) for bad in routed.bad] == [(2, ROUTE_MISSING)]
    assert routed.filtered.tolist() == [0, 3, 4]
    assert routed.filtered.dtype == np.int64


def test_a_flood_of_new_datasets_is_stopped_and_known_ones_pass() -> None:
    router = Router(BY_TYPE, frozenset({"known", "a%2Fb"}), max_new=2)
    routed = router.assign(["known", "n1", "n2", "n3", "a/b", "n1", "n3", None])
    assert rows(routed) == ["known", "n1", "n2", None, "a%2Fb", "n1", None, None]
    assert [(bad.index, bad.reason) for bad in routed.bad] == [
        (3, ROUTE_FLOOD),
        (6, ROUTE_FLOOD),
        (7, ROUTE_MISSING),
    ]
    assert "n3" not in routed.bad[0].detail


def test_the_flood_is_counted_over_the_whole_window() -> None:
    router = Router(BY_TYPE, NOTHING_KNOWN, max_new=2)
    assert rows(router.assign(["n1"])) == ["n1"]
    assert rows(router.assign(["n2", "n3"])) == ["n2", None]
    assert rows(router.assign(["n3", "n1", "n2"])) == [None, "n1", "n2"]


def test_declared_datasets_are_never_part_of_a_flood() -> None:
    spec = FeedSpec(name="events", datasets=STRICT.datasets)
    router = Router(spec, NOTHING_KNOWN, max_new=0)
    assert rows(router.assign(["click", "page/view", "x"])) == ["click", "page%2Fview", None]


def test_a_hundred_thousand_types_open_no_more_than_the_limit() -> None:
    values: list[object | None] = [f"type-{number}" for number in range(100_000)]
    first, second = Router(BY_TYPE, NOTHING_KNOWN), Router(BY_TYPE, NOTHING_KNOWN)
    routed = first.assign(values)
    assert len(routed.datasets) == 1000
    assert len(routed.bad) == 99_000
    halves = [second.assign(values[:50_000]), second.assign(values[50_000:])]
    assert rows(halves[0]) + rows(halves[1]) == rows(routed)


def test_topics_are_routes_too() -> None:
    routed = Router(FeedSpec(name="logs"), NOTHING_KNOWN).assign(["logs.web"] * 3)
    assert (routed.datasets, routed.codes.tolist()) == (["logs.web"], [0, 0, 0])


def test_an_empty_batch_is_routed_nowhere() -> None:
    routed = Router(BY_TYPE, NOTHING_KNOWN).assign([])
    assert (len(routed.codes), routed.datasets, routed.bad) == (0, [], [])


def test_groups_hold_the_rows_of_a_code_in_their_order() -> None:
    codes = np.array([1, 0, NOT_ROUTED, 1, 3, 0], np.int32)
    assert [part.tolist() for part in group(codes, 4)] == [[1, 5], [0, 3], [], [4]]
    assert group(np.zeros(0, np.int32), 0) == []


def test_a_code_beyond_the_count_is_refused() -> None:
    with pytest.raises(ValueError, match="a code of 2"):
        group(np.array([2], np.int32), 2)


def test_many_codes_are_grouped_as_few_are() -> None:
    codes = np.arange(40_000, dtype=np.int32)[::-1].copy()
    assert [part.tolist() for part in group(codes, 40_000)] == [
        [39_999 - code] for code in range(40_000)
    ]


def headers(*pairs: tuple[str | None, bytes | None]) -> str:
    """Headers as Spark's to_json writes them: a null is left out."""
    return json.dumps(
        [
            ({} if key is None else {"key": key})
            | ({} if value is None else {"value": base64.b64encode(value).decode()})
            for key, value in pairs
        ],
        separators=(",", ":"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("[]", None),
        (headers(("type", b"click")), "click"),
        (headers(("id", b"1"), ("type", b"click"), ("type", b"view")), "click"),
        (headers(("type", None), ("type", b"view")), None),
        (headers((None, b"x"), ("type", b"view")), "view"),
        (headers(("type", "größe".encode())), "größe"),
        (headers(("type", b"\xff\xfe")), None),
        (headers(("type", b"")), ""),
        (headers(("TYPE", b"click")), None),
        (headers(('t"ype', b"x"), ("type", b"a" * 300)), "a" * 300),
        ('[{"key":"type","value":"not base64"}]', None),
        ('[{"key":"type","value":"größe"}]', None),
        ("not json", None),
        ('{"type":"click"}', None),
        # Word for word from Spark 4.1.4.
        ('[{"key":"type","value":"YWI="},{"key":"n"},{"value":"eA=="}]', "ab"),
    ],
)
def test_the_first_header_of_a_name_counts(text: str | None, expected: str | None) -> None:
    other = headers(("type", b"other"))
    column = pa.array([other, text, other, text])
    assert header_values(column, "type") == ["other", expected, "other", expected]


def test_headers_are_read_from_a_slice_and_from_nothing() -> None:
    column = pa.array([None, headers(("type", b"a")), headers(("type", b"b"))])
    assert header_values(column.slice(1), "type") == ["a", "b"]
    assert header_values(pa.array([], pa.string()), "type") == []
    assert header_values(pa.array([None, None], pa.string()), "type") == [None, None]


def test_sixteen_threads_route_alike() -> None:
    values: list[object | None] = [f"type-{number % 1500}" for number in range(6000)]

    def run(_: int) -> list[str | None]:
        """A router of one's own, as every task has."""
        return rows(Router(BY_TYPE, NOTHING_KNOWN).assign(values))

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(run, range(32)))
    assert all(answer == answers[0] for answer in answers)
