"""Routes, partition values and forks that are plug-ins, on their way through the shredder."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.api.doors import FORMATS
from penstock.api.errors import PluginBroken, PluginUnknown
from penstock.api.feed_refs import with_refs
from penstock.api.find import Door, offers
from penstock.datapath.shape.convert.visible_names import shown_by_names
from penstock.datapath.shape.route.placing import check_places
from penstock.model.convert_spec import Condition, ConvertSpec
from penstock.model.fork import FORK_ROWS, ForkSpec
from penstock.model.plugin import PluginRef
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import INT64, STRING, DatasetSchema, with_columns
from penstock.model.spec import DatasetSpec, DecodeSpec, FeedSpec, PartitionKey, RouteSpec
from tests.helpers.installed_packages import install_package
from tests.helpers.place_plugins import ENTRIES, MODULE, NAME, call
from tests.helpers.replayed_tasks import again, delivered
from tests.helpers.shredding import BY_TOPIC, BY_TYPE, Shredded, an_event, header, learned, shred

EVENTS = [an_event(kind, n=n) for n, kind in enumerate("abcabc", start=8)]


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    install_package(tmp_path, "acme-places", ENTRIES, {NAME: MODULE})
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop(NAME, None)


def schemas(*names: str) -> dict[str, DatasetSchema]:
    """One schema, under the names of datasets that a plug-in gives."""
    (schema,) = learned(EVENTS[0]).values()
    return {name: msgspec.structs.replace(schema, dataset=name) for name in names}


def by_plugin(how: str, feed: FeedSpec = BY_TYPE) -> FeedSpec:
    return msgspec.structs.replace(feed, route=RouteSpec("plugin", "tenant", (("how", how),)))


def offsets(shredded: Shredded, *datasets: str) -> dict[str, list[int]]:
    return {name: [row["_offset"] for row in shredded.rows(name)] for name in datasets}


def reasons(shredded: Shredded) -> dict[int, tuple[str, str]]:
    return {row["_offset"]: (row["reason"], row["detail"]) for row in shredded.refused()}


# --- routes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_rows", [1, 2, 6])
def test_a_route_names_datasets_by_fields(batch_rows: int) -> None:
    known = schemas("t-a", "t-b", "t-c")
    found = shred(by_plugin("field"), EVENTS, known, batch_rows=batch_rows)
    assert offsets(found, "t-a", "t-b", "t-c") == {"t-a": [0, 3], "t-b": [1, 4], "t-c": [2, 5]}
    assert found.refused() == []


def test_a_route_may_look_at_bytes_headers_and_positions() -> None:
    assert offsets(shred(by_plugin("key"), EVENTS, schemas("k-key")), "k-key") == {
        "k-key": [0, 1, 2, 3, 4, 5]
    }
    found = shred(by_plugin("topic"), EVENTS, schemas("orders-0", "orders-1"))
    assert offsets(found, "orders-0", "orders-1") == {"orders-0": [0, 2, 4], "orders-1": [1, 3, 5]}
    headers = [header("x", "h"), None, *[header("x", "h")] * 4]
    found = shred(by_plugin("header"), EVENTS, schemas("h"), headers=headers)
    assert offsets(found, "h") == {"h": [0, 2, 3, 4, 5]}
    assert reasons(found) == {1: ("ROUTE_MISSING", "plugin tenant: empty")}


@pytest.mark.parametrize("batch_rows", [1, 4, 6])
def test_only_records_for_which_a_route_fails_are_bad(batch_rows: int) -> None:
    found = shred(by_plugin("raises"), EVENTS, schemas("t-a", "t-b"), batch_rows=batch_rows)
    assert offsets(found, "t-a", "t-b") == {"t-a": [0, 3], "t-b": [1, 4]}
    assert set(reasons(found)) == {2, 5}
    assert reasons(found)[2] == ("ROUTE_FAILED", "tenant: ValueError: cannot place c")


@pytest.mark.parametrize(
    ("how", "why"), [("fewer", "fewer answers"), ("bytes", "it returned a bytes, and no text")]
)
def test_a_route_that_breaks_its_promise_puts_records_into_the_quarantine(
    how: str, why: str
) -> None:
    found = shred(by_plugin(how), EVENTS, {})
    assert {reason for reason, _ in reasons(found).values()} == {"ROUTE_FAILED"}
    assert all(why in detail for _, detail in reasons(found).values())
    assert len(found.refused()) == 6


def test_a_route_is_not_asked_about_records_that_cannot_be_read() -> None:
    found = shred(by_plugin("raises"), [b"{", *EVENTS[:2]], schemas("t-a", "t-b"))
    assert [reason for reason, _ in reasons(found).values()] == ["NOT_JSON"]
    assert offsets(found, "t-a", "t-b") == {"t-a": [1], "t-b": [2]}


def test_a_tombstone_goes_where_a_route_without_fields_says() -> None:
    feed = by_plugin("key", BY_TOPIC)
    known = schemas("k-key")
    found = shred(feed, [EVENTS[0], None], known)
    assert offsets(found, "k-key") == {"k-key": [0, 1]}
    found = shred(by_plugin("field", BY_TOPIC), [EVENTS[0], None], schemas("t-a"))
    assert reasons(found) == {1: ("TOMBSTONE", "no value, and the route needs one")}


def test_names_of_a_route_obey_what_is_said_of_unknown_datasets() -> None:
    feed = msgspec.structs.replace(
        by_plugin("field"), unknown="filter", datasets=(DatasetSpec("t-a"),)
    )
    found = shred(feed, EVENTS, schemas("t-a"))
    assert offsets(found, "t-a") == {"t-a": [0, 3]}
    assert found.report.evidence.filtered.count == 4


# --- partition values ----------------------------------------------------------------------------

BUCKETS = PartitionKey("plugin", "bucket", "bucket")


def partitioned(*keys: PartitionKey) -> FeedSpec:
    return msgspec.structs.replace(BY_TYPE, partition=keys)


def directories(shredded: Shredded, dataset: str) -> list[str]:
    finals = [f.handle.final for f in shredded.report.files if f.dataset == dataset]
    return sorted(final.rpartition("/")[0].removeprefix(f"f/{dataset}/") for final in finals)


@pytest.mark.parametrize("batch_rows", [1, 6])
def test_a_partition_value_names_directories(batch_rows: int) -> None:
    week = PartitionKey("plugin", "w", "week")
    feed = partitioned(PartitionKey("day"), BUCKETS, week)
    found = shred(feed, EVENTS, learned(*EVENTS[:3]), batch_rows=batch_rows)
    assert directories(found, "a") == [
        "day=2026-11-16/by_bucket=0/by_w=47",
        "day=2026-11-16/by_bucket=1/by_w=47",
    ]
    assert found.refused() == []


def test_a_dataset_may_have_a_partition_value_of_its_own_and_none_is_hive_s_null() -> None:
    key = PartitionKey("plugin", "b", "bucket", (("count", 3),))
    feed = msgspec.structs.replace(BY_TYPE, datasets=(DatasetSpec("b", partition=(key,)),))
    events = [*EVENTS[:3], an_event("b", n=99)]
    found = shred(feed, events, learned(*EVENTS[:3]))
    assert directories(found, "a") == ["day=2026-11-16"]
    assert directories(found, "b") == ["by_b=0", "by_b=__HIVE_DEFAULT_PARTITION__"]


def test_only_records_for_which_a_partition_value_fails_are_bad() -> None:
    events = [*EVENTS[:3], an_event("a", n="many"), an_event("a")]
    other = PartitionKey("plugin", "two", "bucket", (("count", 5),))
    known = learned(an_event("a", n=None), *EVENTS[:3])
    found = shred(partitioned(BUCKETS, other), events, known)
    assert directories(found, "a") == ["by_bucket=0/by_two=3"]
    assert {row["_offset"]: row["dataset"] for row in found.refused()} == {3: "a", 4: "a"}
    assert reasons(found)[4][0] == "PARTITION_FAILED"
    assert reasons(found)[4][1].startswith("bucket: TypeError: unsupported operand")


def test_what_is_converted_lies_where_the_record_says_as_it_came() -> None:
    feed = msgspec.structs.replace(partitioned(BUCKETS), convert=(ConvertSpec("drop", ("n",)),))
    known = learned(*EVENTS[:3])
    files = {
        name: msgspec.structs.replace(
            schema, fields=tuple(each for each in schema.fields if each.name != "n")
        )
        for name, schema in known.items()
    }
    found = shred(feed, EVENTS, known, file_schemas=files)
    assert directories(found, "a") == ["by_bucket=0", "by_bucket=1"]
    assert "n" not in found.rows("a")[0]


# --- forks ---------------------------------------------------------------------------------------


def with_forks(*forks: ForkSpec) -> FeedSpec:
    return msgspec.structs.replace(BY_TYPE, forks=forks)


TIERS = call("tiers")
FORKS = (
    ForkSpec("c-too", (Condition("type", one_of=("c",)),)),
    ForkSpec("gold", call=TIERS),
    ForkSpec("even", call=TIERS),
)


def known_forks() -> dict[str, DatasetSchema]:
    return learned(*EVENTS[:3]) | schemas("gold", "even", "c-too")


@pytest.mark.parametrize("batch_rows", [1, 6])
def test_a_fork_function_names_further_datasets(batch_rows: int) -> None:
    found = shred(with_forks(*FORKS), EVENTS, known_forks(), batch_rows=batch_rows)
    assert offsets(found, "a", "b", "c", "gold", "even", "c-too") == {
        "a": [0, 3],
        "b": [1, 4],
        "c": [2, 5],
        "gold": [2, 3, 4, 5],
        "even": [0, 2, 4],
        "c-too": [2, 5],
    }
    assert {row["_row"] for row in found.rows("gold")} == {2 * FORK_ROWS}
    assert {row["_row"] for row in found.rows("even")} == {3 * FORK_ROWS}


@pytest.mark.parametrize("batch_rows", [1, 6])
@pytest.mark.parametrize("route", [BY_TYPE.route, RouteSpec("header", "h")])
def test_a_record_for_which_a_fork_function_fails_is_in_the_quarantine_whole(
    batch_rows: int, route: RouteSpec
) -> None:
    """Goal: no row of it is anywhere else. Method: records without a number, one read in a group
    and one alone, in a feed with another fork that would take them."""
    bad = an_event("c", n=None)
    events = [*EVENTS[:2], bad, an_event("c"), EVENTS[2]]
    headers = [header("h", json.loads(event)["type"]) for event in events]
    feed = msgspec.structs.replace(with_forks(*FORKS), route=route)
    known = known_forks() | learned(bad, EVENTS[2])
    found = shred(feed, events, known, batch_rows=batch_rows, headers=headers)
    assert offsets(found, "a", "b", "c", "c-too") == {"a": [0], "b": [1], "c": [4], "c-too": [4]}
    assert {row["_offset"]: row["dataset"] for row in found.refused()} == {2: None, 3: None}
    assert reasons(found)[2][0] == "FORK_FAILED"
    assert "tiers: TypeError" in reasons(found)[2][1]


def test_filtered_records_are_asked_too_and_counted_once() -> None:
    feed = msgspec.structs.replace(with_forks(*FORKS[1:]), unknown="filter")
    events = [EVENTS[0], an_event("b", n=None), EVENTS[3]]
    found = shred(feed, events, schemas("gold", "even"))
    assert offsets(found, "gold", "even") == {"gold": [2], "even": [0]}
    assert set(reasons(found)) == {1}
    assert found.report.evidence.filtered.count == 2


def test_a_fork_function_is_asked_about_the_datasets_it_is_for() -> None:
    forks = tuple(ForkSpec(to, (), ("a",), TIERS) for to in ("gold", "even"))
    events = [*EVENTS, an_event("b", n=None)]
    found = shred(with_forks(*forks), events, known_forks() | learned(*EVENTS[:3]))
    assert offsets(found, "gold", "even") == {"gold": [3], "even": [0]}
    assert found.refused() == []


@pytest.mark.parametrize(
    ("wrong", "why"),
    [("text", "a str, and no list of datasets"), ("foreign", "`to` does not have")],
)
def test_a_fork_function_that_breaks_its_promise_puts_records_into_the_quarantine(
    wrong: str, why: str
) -> None:
    forks = (ForkSpec("gold", call=call("tiers", wrong=wrong)),)
    found = shred(with_forks(*forks), EVENTS, known_forks())
    assert all(detail.endswith(why) for _, detail in reasons(found).values())
    assert len(found.refused()) == 6
    assert found.report.files
    assert {file.dataset for file in found.report.files} == {"_quarantine"}


# --- on the driver -------------------------------------------------------------------------------


def test_what_travels_is_found_before_and_nothing_is_looked_up_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    feed = msgspec.structs.replace(
        by_plugin("field"),
        partition=(PartitionKey("day"), BUCKETS),
        datasets=(DatasetSpec("x", partition=(BUCKETS,)),),
        forks=FORKS[1:],
        convert=(),
    )
    ready = with_refs(feed)
    assert ready.route.ref is not None
    assert ready.route.ref.target == f"{NAME}:Tenant"
    assert with_refs(ready) == ready

    def on_an_executor(door: Door[object]) -> tuple[PluginRef, ...]:
        assert door is FORMATS, "an executor has no metadata"  # the helper makes a plan with it
        return offers(door)

    monkeypatch.setattr("penstock.api.find.offers", on_an_executor)
    found = shred(ready, EVENTS, schemas("t-a", "t-b", "t-c", "gold", "even"))
    assert offsets(found, "t-a") == {"t-a": [0, 3]}


@pytest.mark.parametrize(
    ("feed", "error", "why"),
    [
        ({"route": RouteSpec("plugin", "tenat")}, PluginUnknown, "did you mean 'tenant'"),
        ({"route": RouteSpec("plugin", "odd")}, PluginBroken, "not a list of paths"),
        ({"partition": (PartitionKey("plugin", "x", "x"),)}, PluginUnknown, "partition value"),
        ({"forks": (ForkSpec("x", call=call("tiers", most=1)),)}, PluginBroken, "most"),
    ],
)
def test_a_plug_in_that_cannot_be_had_is_found_before_anything_is_read(
    feed: dict[str, Any], error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        check_places(msgspec.structs.replace(BY_TYPE, **feed))


def test_a_hidden_field_that_a_plug_in_sees_is_warned_of() -> None:
    steps = (ConvertSpec("mask", ("n", "type"), ("", "")),)
    feed = msgspec.structs.replace(by_plugin("field"), partition=(BUCKETS,), convert=steps)
    assert shown_by_names(feed) == [
        "route by plugin:tenant: the names of datasets show what it makes of values of type in the "
        "clear, as they came; `mask` hides them in rows only.",
        "partition by plugin:bucket: the names of directories show what it makes of values of n in "
        "the clear, as they came; `mask` hides them in rows only.",
    ]


# --- formats with schemas, and replays -----------------------------------------------------------

AVRO = RegisteredSchema(
    "avro",
    '{"type": "record", "name": "shop.Sale", "fields": ['
    '{"name": "type", "type": "string"}, {"name": "n", "type": ["null", "long"]}]}',
)


def avro(kind: str, n: int | None) -> bytes:
    """A record of the schema above, as Avro writes it."""
    number = b"\x00" if n is None else b"\x02" + bytes([2 * n])
    return bytes([2 * len(kind)]) + kind.encode() + number


def shred_avro(values: list[bytes], known: tuple[str, ...], **keys: Any) -> Shredded:
    fields = with_columns([("type", STRING, False), ("n", INT64, True)], top=True)
    feed = FeedSpec(name="f", topics=("orders",), decode=DecodeSpec(format="avro"), **keys)
    schemas = {name: DatasetSchema(name, 1, False, fields) for name in known}
    return shred(with_refs(feed), values, schemas, record_schemas={"fixed": AVRO})


def test_records_with_schemas_go_where_plug_ins_say() -> None:
    """Goal: the same for columns that are decoded first. Method: every kind of plug-in at once."""
    found = shred_avro(
        [avro("a", 8), avro("b", 11), avro("c", 12), avro("a", None)],
        ("t-a", "t-b", "gold", "even"),
        route=RouteSpec("plugin", "tenant", (("how", "raises"),)),
        partition=(BUCKETS,),
        forks=FORKS[1:],
    )
    assert offsets(found, "t-a", "t-b", "gold", "even") == {
        "t-a": [0],
        "t-b": [1],
        "gold": [1],
        "even": [0],
    }
    assert {offset: why for offset, (why, _) in reasons(found).items()} == {
        2: "ROUTE_FAILED",
        3: "FORK_FAILED",
    }
    assert directories(found, "t-b") == ["by_bucket=1"]


def test_a_route_sees_the_name_of_the_schema() -> None:
    route = RouteSpec("plugin", "tenant", (("how", "schema"),))
    found = shred_avro([avro("a", 1), avro("b", 2)], ("of-shop.Sale",), route=route)
    assert offsets(found, "of-shop.Sale") == {"of-shop.Sale": [0, 1]}


def test_records_that_plug_ins_failed_for_are_delivered_once_when_they_are_mended() -> None:
    """Goal: a replay asks again, and each row comes once. Method: mended options, all three."""
    events = [EVENTS[5], EVENTS[3], an_event("a", n=None)]
    known = learned(EVENTS[0], an_event("a", n=None))
    known |= {
        f"t-{kind}": msgspec.structs.replace(known["a"], dataset=f"t-{kind}") for kind in "ac"
    }
    known |= {"gold": msgspec.structs.replace(known["a"], dataset="gold")}
    forks = (ForkSpec("gold", call=call("tiers", least=10)),)
    broken = msgspec.structs.replace(by_plugin("raises"), forks=forks)
    before = shred(broken, events, known)
    assert {offset: why for offset, (why, _) in reasons(before).items()} == {
        0: "ROUTE_FAILED",
        2: "FORK_FAILED",
    }
    mended = msgspec.structs.replace(by_plugin("field"), forks=forks)
    done, rows = again(before, mended, known)
    assert delivered(done) == {("", 0): ((0, 1),)}
    assert offsets(rows, "t-c", "gold") == {"t-c": [0], "gold": [0]}
    kept, rows = again(before, msgspec.structs.replace(mended, forks=()), known)
    assert delivered(kept) == {("", 0): ((0, 1), (2, 3))}
    assert offsets(rows, "t-a") == {"t-a": [2]}
