"""Converting on the way to files: from records to rows, with nothing lost, in every format.

Whatever is shredded here has passed the owner's proof: written + quarantined + filtered = read.
"""

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pyspark import cloudpickle

from penstock.api.errors import PluginUnknown
from penstock.datapath.formats.parquet.parquet import FORMAT as PARQUET
from penstock.datapath.schemas.errors import ConvertRefused
from penstock.datapath.schemas.learning import ROUNDS, Learning
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.errors import OutcomeUnknown
from penstock.model.convert_spec import Condition, ConvertSpec, RecordValue
from penstock.model.encryption_keys import Keys
from penstock.model.spec import DecodeSpec, FeedSpec, PartitionKey, RouteSpec, TimeSpec
from penstock.model.window import StageOrder
from penstock.testing.memory_store import MemoryStore
from tests.helpers.shredding import (
    BY_TOPIC,
    BY_TYPE,
    LAYOUT,
    NOON_MS,
    TOPIC,
    Shredded,
    an_event,
    header,
    shred,
    with_steps,
)

KEY = bytes(range(32))
KEYS = Keys({("hash", "h"): b"salt", ("encrypt", "e"): KEY})
Payload = bytes | None


def deliver(
    feed: FeedSpec, values: Sequence[Payload], store: MemoryStore | None = None, **plan: Any
) -> Shredded:
    """Shred and learn until nothing is new, as a run does; the store keeps what was learned."""
    learning = Learning(store or MemoryStore(), LAYOUT, feed, None, KEYS)
    for _ in range(ROUNDS):
        found = shred(
            feed,
            values,
            learning.schemas.known,
            record_schemas=learning.named.ready(),
            file_schemas=dict(learning.schemas.file_schemas.known),
            keys=KEYS,
            **plan,
        )
        if not learning.learn([found.report]):
            return found
    raise AssertionError("there was always something new")


def event_columns(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ours = {"_topic", "_partition", "_offset", "_timestamp"}
    return [{name: value for name, value in row.items() if name not in ours} for row in rows]


def reasons(found: Shredded) -> list[tuple[int, str]]:
    return [(row["_offset"], row["reason"]) for row in found.refused()]


def test_records_are_converted_filtered_or_quarantined_with_their_bytes() -> None:
    feed = with_steps(
        BY_TYPE,
        ConvertSpec("filter", conditions=(Condition("n", least=1),)),
        ConvertSpec("cast", ("price",), ("int64",)),
        ConvertSpec("rename", ("who",), ("email",)),
        ConvertSpec("hash", ("email",), ("h",)),
        ConvertSpec("encrypt", ("ssn",), ("e",)),
        ConvertSpec("flatten", ("device",)),
        ConvertSpec("set", ("source",), constants=("web",)),
        ConvertSpec("drop", ("at", "type")),
    )
    values = [
        an_event("a", n=n, price="7" if n % 3 else "x", who="w", ssn="1-2", device={"os": "i"})
        for n in range(7)
    ]
    found = deliver(feed, [*values, b"{"])
    rows = event_columns(found.rows("a"))
    assert [row["n"] for row in rows] == [1, 2, 4, 5]
    assert reasons(found) == [(3, "CAST_FAILED"), (6, "CAST_FAILED"), (7, "NOT_JSON")]
    assert found.report.evidence.filtered.count == 1
    assert {row["dataset"] for row in found.refused()[:2]} == {"a"}
    assert found.refused()[0]["value"] == values[3]
    names = {"n", "price", "email", "ssn", "device_os", "source", "_rest"}
    assert all(set(row) == names for row in rows)
    sealed = rows[0]["ssn"]
    assert AESGCM(KEY).decrypt(sealed[:12], sealed[12:], None) == b"1-2"
    assert (rows[0]["price"], rows[0]["source"], rows[0]["device_os"]) == (7, "web", "i")


def test_route_time_and_directories_come_from_the_record_as_it_was() -> None:
    feed = msgspec.structs.replace(
        BY_TYPE,
        partition=(PartitionKey(), PartitionKey("field", "country")),
        convert=(
            ConvertSpec("set", ("country", "at"), constants=("XX", 0)),
            ConvertSpec("drop", ("type",)),
        ),
    )
    found = deliver(feed, [an_event("a", country="DE"), an_event("a", country="FR")])
    assert [path.rsplit("/", 1)[0] for path in found.finals()] == [
        "f/a/day=2026-11-16/by_country=DE",
        "f/a/day=2026-11-16/by_country=FR",
    ]
    assert {row["country"] for row in found.rows("a")} == {"XX"}


def test_a_dataset_without_steps_is_as_if_there_were_none() -> None:
    values = [an_event("a", n=1), an_event("b", n=2)]
    plain, steps = MemoryStore(), MemoryStore()
    step = ConvertSpec("drop", ("n",), datasets=("b",))
    before = deliver(BY_TYPE, values, plain)
    after = deliver(with_steps(BY_TYPE, step), values, steps)
    assert before.rows("a") == after.rows("a")
    content = [f.store.read(f.report.files[0].handle.final) for f in (before, after)]
    assert content[0] == content[1]
    extra = set(steps.shelf.objects) - set(plain.shelf.objects)
    assert extra == {f"{LAYOUT.reading}/b/000001.json"}
    assert [f.schema for f in after.report.files] == [1, 1]


def test_a_tombstone_that_is_kept_has_no_values_and_is_not_converted() -> None:
    feed = with_steps(
        BY_TOPIC,
        ConvertSpec("set", ("source",), constants=("web",)),
        ConvertSpec("filter", conditions=(Condition("n", null=False),)),
        ConvertSpec("rename", ("n",), ("m",)),
    )
    found = deliver(feed, [b'{"n": 1}', None, b'{"x": 1}'])
    assert event_columns(found.rows(TOPIC)) == [
        {"m": 1, "x": None, "source": "web", "_rest": None},
        {"m": None, "x": None, "source": None, "_rest": None},
    ]
    assert found.report.evidence.filtered.count == 1


def test_what_has_no_column_yet_is_kept_unless_it_must_be_hidden() -> None:
    feed = with_steps(BY_TYPE, ConvertSpec("mask", ("ssn",), ("",)))
    store = MemoryStore()
    deliver(feed, [an_event("a", n=1)], store)
    values = [an_event("a", n=1, new=2), an_event("a", n=1, ssn="secret")]
    learning = Learning(store, LAYOUT, feed, None, KEYS)
    outputs = dict(learning.schemas.file_schemas.known)
    found = shred(feed, values, learning.schemas.known, file_schemas=outputs, keys=KEYS)
    assert [json.loads(row["_rest"]) for row in found.rows("a")] == [{"new": 2}]
    assert reasons(found) == [(1, "CONVERT_FAILED")]
    assert "secret" not in found.refused()[0]["detail"]
    assert learning.learn([found.report]), "so that it is read again"
    again = deliver(feed, values, store)
    assert again.refused() == []
    assert [row["ssn"] for row in again.rows("a")] == [None, "***"]
    assert [row["new"] for row in again.rows("a")] == [2, None]


def test_a_field_to_hide_that_comes_later_is_learned_before_its_window_is_written() -> None:
    feed = with_steps(
        BY_TYPE,
        ConvertSpec("flatten", ("user",)),
        ConvertSpec("rename", ("user_ssn",), ("s",)),
        ConvertSpec("hash", ("s",), ("h",)),
    )
    store = MemoryStore()
    deliver(feed, [an_event("a", user={"n": 1})], store)
    found = deliver(feed, [an_event("a", user={"n": 1, "ssn": n}) for n in ("1", "2", "")], store)
    assert found.refused() == []
    assert len({row["s"] for row in found.rows("a")}) == 3
    odd = deliver(feed, [an_event("a", user={"ssn": ["x"]}), an_event("a", user="x")], store)
    assert reasons(odd) == [(0, "CONVERT_FAILED"), (1, "CONVERT_FAILED")]


def test_a_field_to_hide_is_learned_by_the_name_that_events_have_for_it() -> None:
    feed = with_steps(
        BY_TYPE,
        ConvertSpec("rename", ("user.mail", "user"), ("email", "person")),
        ConvertSpec("hash", ("person.email",), ("h",)),
    )
    store = MemoryStore()
    deliver(feed, [an_event("a", n=1)], store)
    found = deliver(feed, [an_event("a", n=1, user={"mail": "x@y.z"})], store)
    assert found.refused() == []
    assert [(len(row["person"]["email"]), row["_rest"]) for row in found.rows("a")] == [(64, None)]


def test_a_field_to_hide_in_a_list_makes_its_records_bad() -> None:
    for verb, words in (("encrypt", ("e",)), ("drop", ()), ("keep", ())):
        feed = with_steps(BY_TYPE, ConvertSpec(verb, ("items.ssn",), words))  # type: ignore[arg-type]
        for before in ("a", "b"):  # the dataset is known without the field, or not at all
            store = MemoryStore()
            deliver(feed, [an_event(before, n=1)], store)
            found = deliver(feed, [an_event("a", items=[{"ssn": "123"}]), an_event("a")], store)
            assert reasons(found) == [(0, "CONVERT_FAILED")], (verb, before)
            assert len(found.rows("a")) == 1


@pytest.mark.parametrize(
    "event",
    [
        {"user.ssn": "123-45"},
        {"user": {"ssn": "123-45"}, "user.ssn": "123-45"},
        {"user": {"x": {"n": 1}}, "user.ssn": "123-45"},
    ],
)
@pytest.mark.parametrize("verb", ["mask", "hash", "encrypt", "drop"])
def test_a_path_with_points_also_hides_the_field_that_is_called_so(
    verb: Any, event: dict[str, Any]
) -> None:
    words = {"mask": ("",), "hash": ("h",), "encrypt": ("e",), "drop": ()}[verb]
    feed = with_steps(BY_TYPE, ConvertSpec(verb, ("user.ssn",), words))
    for before in (an_event("a", n=1), an_event("a", user={"n": 1}), an_event("b")):
        store = MemoryStore()
        deliver(feed, [before], store)
        for _ in range(2):
            found = deliver(feed, [an_event("a", n=1, **event)], store)
            assert found.refused() == []
            assert "123-45" not in str(found.rows("a"))


NEW_FIELDS = [
    (ConvertSpec("rename", ("mail",), ("email",)), {"mail": "x"}, {"mail": "x", "email": "boom"}),
    (ConvertSpec("flatten", ("device",)), {"device": {"os": "x"}}, {"device_os": "boom"}),
    (ConvertSpec("flatten", ("device",)), {"device_os": "x"}, {"device": {"os": "boom", "n": 1}}),
    (ConvertSpec("flatten", ("device",)), {}, {"device": "boom"}),
    (ConvertSpec("cast", ("amount",), ("int64",)), {}, {"amount": {"x": "boom"}}),
    (ConvertSpec("rename", ("u.a",), ("b",)), {"u": {"a": "x"}}, {"u": {"a": "y", "b": "boom"}}),
]


@pytest.mark.parametrize(("step", "first", "later"), NEW_FIELDS)
def test_a_new_field_that_makes_a_step_impossible_stays_in_the_rest(
    step: ConvertSpec, first: dict[str, Any], later: dict[str, Any]
) -> None:
    feed, store = with_steps(BY_TYPE, step), MemoryStore()
    deliver(feed, [an_event("a", **first)], store)
    columns = columns_of(store, feed)
    for _ in range(2):
        values = [an_event("a", **first), an_event("a", **later, fresh=1), an_event("b", n=1)]
        found = deliver(feed, values, store)
        assert found.refused() == []
        assert len(found.rows("b")) == 1
        assert ["boom" in (row["_rest"] or "") for row in found.rows("a")] == [False, True]
        assert columns_of(store, feed) == columns | {"fresh": "int64"}, "others get their column"
    assert found.rows("a")[1]["fresh"] == 1


def test_a_field_that_stays_in_the_rest_is_not_seen_there_if_it_is_to_be_hidden() -> None:
    feed = with_steps(
        BY_TYPE,
        ConvertSpec("rename", ("mail",), ("email",)),
        ConvertSpec("mask", ("email",), ("",)),
    )
    store = MemoryStore()
    deliver(feed, [an_event("a", mail="x")], store)
    values = [an_event("a", mail="x"), an_event("a", mail="x", email="boom")]
    for _ in range(2):
        found = deliver(feed, values, store)
        assert reasons(found) == [(1, "CONVERT_FAILED")]
        assert [(row["email"], row["_rest"]) for row in found.rows("a")] == [("***", None)]


def test_a_field_that_stays_in_the_rest_does_not_count_where_another_has_its_name() -> None:
    feed = with_steps(
        BY_TYPE,
        ConvertSpec("rename", ("mail",), ("email",)),
        ConvertSpec("filter", conditions=(Condition("email", one_of=("x",)),)),
    )
    store = MemoryStore()
    deliver(feed, [an_event("a", mail="x")], store)
    values = [an_event("a", mail="x", email="y"), an_event("a", mail="y", email="x")]
    assert [row["_offset"] for row in deliver(feed, values, store).rows("a")] == [0]


def test_an_odd_first_record_of_a_new_dataset_stops_nobody() -> None:
    feed = with_steps(
        BY_TYPE,
        ConvertSpec("cast", ("amount",), ("int64",)),
        ConvertSpec("mask", ("phone",), ("",)),
    )
    store = MemoryStore()
    deliver(feed, [an_event("a", amount=1.0)], store)
    odd = [an_event("b", amount={"x": 1}, n=1), an_event("c", phone=["1"]), an_event("a", n=1)]
    found = deliver(feed, odd, store)
    assert reasons(found) == [(1, "CONVERT_FAILED")]
    assert json.loads(found.rows("b")[0]["_rest"]) == {"amount": {"x": 1}}
    deliver(feed, [an_event("b", amount=2.0)], store)
    found = deliver(feed, [an_event("b", amount=2.0), an_event("c", phone="2")], store)
    assert [row["amount"] for row in found.rows("b")] == [2]
    assert [row["phone"] for row in found.rows("c")] == ["***"]


def test_what_is_refused_is_not_kept_in_the_lake() -> None:
    feed, store = with_steps(BY_TYPE, ConvertSpec("flatten", ("n",))), MemoryStore()
    with pytest.raises(ConvertRefused):
        deliver(feed, [an_event("a", n=1)], store)
    assert not store.shelf.objects
    deliver(BY_TYPE, [an_event("a", n=1)], store)
    with pytest.raises(ConvertRefused, match="flatten n"):
        Learning(store, LAYOUT, feed, None, KEYS)


def test_text_and_messagepack_are_converted_too() -> None:
    text = FeedSpec(
        name="f",
        topics=(TOPIC,),
        decode=DecodeSpec("text", delimiter=",", columns=("n", "level")),
        convert=(
            ConvertSpec("cast", ("n",), ("int64",)),
            ConvertSpec("filter", conditions=(Condition("level", one_of=("info",)),)),
        ),
    )
    found = deliver(text, [b"1,info", b"x,info", b"3,debug", b"4,info", b"5"])
    assert [row["n"] for row in found.rows(TOPIC)] == [1, 4]
    assert reasons(found)[0] == (1, "CAST_FAILED")
    assert found.report.evidence.filtered.count == 1
    packed = FeedSpec(
        name="f",
        topics=(TOPIC,),
        decode=DecodeSpec("msgpack"),
        convert=(ConvertSpec("cast", ("n",), ("boolean",)),),
    )
    values = [msgspec.msgpack.encode({"n": word}) for word in ("true", "so", "false")]
    found = deliver(packed, values)
    assert [row["n"] for row in found.rows(TOPIC)] == [True, False]
    assert found.refused()[0]["value"] == values[1]


def test_nothing_but_our_own_columns_may_be_left() -> None:
    found = deliver(with_steps(BY_TYPE, ConvertSpec("keep", ("none",))), [an_event("a", n=1)])
    assert event_columns(found.rows("a")) == [{"_rest": None}]


def test_a_replayed_record_is_converted_and_one_that_is_filtered_stays() -> None:
    feed = with_steps(
        BY_TYPE,
        ConvertSpec("cast", ("p",), ("int64",)),
        ConvertSpec("filter", conditions=(Condition("n", least=1),)),
    )
    values = [an_event("a", n=n, p=p) for n, p in ((0, "1"), (1, "x"), (2, "3"))]
    learning = Learning(MemoryStore(), LAYOUT, feed, None, KEYS)
    first = shred(feed, values, {})
    learning.learn([first.report])
    found = shred_again(feed, values, learning)
    assert [row["p"] for row in found.rows("a")] == [3]
    assert dict(found.report.reasons) == {"FILTERED": 1, "CAST_FAILED": 1}


def shred_again(feed: FeedSpec, values: Sequence[Payload], learning: Learning) -> Shredded:
    return shred(
        feed,
        values,
        learning.schemas.known,
        file_schemas=dict(learning.schemas.file_schemas.known),
        keys=KEYS,
        is_replay=True,
    )


# --- what files have, over time ------------------------------------------------------------------


def columns_of(store: MemoryStore, feed: FeedSpec, dataset: str = "a") -> dict[str, str]:
    shelf = Learning(store, LAYOUT, feed, None, KEYS).schemas
    known = shelf.file_schemas.known.get(dataset) or shelf.known[dataset]
    return {each.column: each.type.kind for each in known.fields}


def test_a_first_step_joins_its_columns_to_those_that_files_have() -> None:
    store = MemoryStore()
    deliver(BY_TYPE, [an_event("a", who="x", n=1)], store)
    renamed = with_steps(BY_TYPE, ConvertSpec("rename", ("who",), ("email",)))
    found = deliver(renamed, [an_event("a", who="y", n=2)], store)
    (row,) = event_columns(found.rows("a"))
    assert (row["who"], row["email"], row["n"]) == (None, "y", 2)
    assert [file.schema for file in found.report.files] == [2]
    back = deliver(BY_TYPE, [an_event("a", who="z", n=3)], store)
    (row,) = event_columns(back.rows("a"))
    assert (row["who"], row["email"], row["n"]) == ("z", None, 3)


def test_a_step_that_makes_another_kind_of_column_is_refused_record_by_record() -> None:
    store = MemoryStore()
    whole = with_steps(BY_TYPE, ConvertSpec("cast", ("n",), ("int64",)))
    deliver(whole, [an_event("a", n="1"), an_event("b", n="1")], store)
    other = ConvertSpec("cast", ("n",), ("boolean",), datasets=("a",))
    text = with_steps(BY_TYPE, other, ConvertSpec("cast", ("n",), ("int64",), datasets=("b",)))
    found = deliver(text, [an_event("a", n="1"), an_event("b", n="2")], store)
    assert reasons(found) == [(0, "SCHEMA_INCOMPATIBLE")]
    assert "n, it was int64 and is now boolean" in found.refused()[0]["detail"]
    assert len(found.rows("b")) == 1
    assert columns_of(store, text)["n"] == "int64"


SET_NULL = ConvertSpec("set", ("ssn",), constants=(None,))


@pytest.mark.parametrize("value", [5, "x", {"n": 1}, [1, 2], True])
def test_a_field_that_is_set_to_null_keeps_the_type_that_files_have(value: object) -> None:
    store = MemoryStore()
    deliver(BY_TYPE, [an_event("a", ssn=value)], store)
    columns = columns_of(store, BY_TYPE)
    feed = with_steps(BY_TYPE, SET_NULL)
    for _ in range(2):
        found = deliver(feed, [an_event("a", ssn=value), an_event("a")], store)
        assert found.refused() == []
        assert [row["ssn"] for row in found.rows("a")] == [None, None]
    assert columns_of(store, feed) == columns
    assert deliver(BY_TYPE, [an_event("a", ssn=value)], store).refused() == []


def test_a_null_that_is_a_text_in_files_stays_one() -> None:
    store = MemoryStore()
    feed = with_steps(BY_TYPE, SET_NULL)
    deliver(feed, [an_event("a", n=1)], store)
    assert columns_of(store, feed)["ssn"] == "string"
    for _ in range(2):
        found = deliver(feed, [an_event("a", n=1, ssn=5), an_event("a", ssn="x")], store)
        assert found.refused() == []
        assert {row["ssn"] for row in found.rows("a")} == {None}
    assert columns_of(store, feed)["ssn"] == "string"


@pytest.mark.parametrize(
    "then",
    [
        ConvertSpec("rename", ("ssn",), ("x",)),
        ConvertSpec("encrypt", ("ssn",), ("e",)),
        ConvertSpec("mask", ("ssn",), ("",)),
        ConvertSpec("cast", ("ssn",), ("date",)),
        ConvertSpec("set", ("ssn",), constants=(1.5,)),
    ],
)
@pytest.mark.parametrize("value", [5, True, {"n": 1}, [1]])
def test_a_null_may_be_led_through_further_steps(then: ConvertSpec, value: object) -> None:
    store, feed = MemoryStore(), with_steps(BY_TYPE, SET_NULL, then)
    for _ in range(2):
        found = deliver(feed, [an_event("a", ssn=value), an_event("a", n=1)], store)
        assert found.refused() == []
        assert len(found.rows("a")) == 2


def test_records_that_grow_let_files_grow() -> None:
    store = MemoryStore()
    feed = with_steps(BY_TYPE, ConvertSpec("flatten", ("device",)))
    deliver(feed, [an_event("a", device={"os": "i"})], store)
    deliver(feed, [an_event("a", device={"os": "i", "build": 7})], store)
    found = deliver(feed, [an_event("a", device={"os": "i", "build": 7})], store)
    assert found.rows("a")[0]["device_build"] == 7
    assert columns_of(store, feed) == {
        "type": "string", "at": "int64", "device_os": "string", "device_build": "int64",
    }  # fmt: skip


@pytest.mark.parametrize("landed", [True, False])
@pytest.mark.parametrize("at", range(4))
def test_a_crash_between_the_two_schemas_leaves_no_trace(at: int, landed: bool) -> None:
    """Goal: dying around any write ends in the same schemas. Method: die at each, then go on."""
    feed = with_steps(BY_TYPE, ConvertSpec("cast", ("n",), ("int64",)))
    values = [an_event("a", n="1"), an_event("b", n="2")]
    calm = MemoryStore()
    deliver(feed, values, calm)
    dying = DyingStore(at, landed)
    with pytest.raises(OutcomeUnknown):
        deliver(feed, values, dying)
    dying.at = -1
    found = deliver(feed, values, dying)
    assert dying.shelf.objects == calm.shelf.objects
    assert [row["n"] for name in ("a", "b") for row in found.rows(name)] == [1, 2]
    assert len(calm.shelf.objects) == 4


class DyingStore(MemoryStore):
    """A store whose process dies at its n-th creation, before it or after."""

    def __init__(self, at: int, landed: bool) -> None:
        super().__init__()
        self.at, self._landed, self._count = at, landed, 0

    def create(self, key: str, data: bytes) -> bool:
        """Create, or die."""
        number, self._count = self._count, self._count + 1
        if self.at >= 0 and number >= self.at:
            if self._landed and number == self.at:
                super().create(key, data)
            raise OutcomeUnknown("create", key, "the process is dead")
        return super().create(key, data)


def test_two_processes_that_add_columns_at_once_end_with_both() -> None:
    store = MemoryStore()
    base = with_steps(BY_TYPE, ConvertSpec("drop", ("x",)))
    deliver(base, [an_event("a", n=1)], store)
    one = Learning(store, LAYOUT, base, None, KEYS)
    other = with_steps(BY_TYPE, ConvertSpec("set", ("source",), constants=("web",)))
    Learning(store, LAYOUT, other, None, KEYS)
    outputs = dict(one.schemas.file_schemas.known)
    found = shred(base, [an_event("a", n=1, m=2)], one.schemas.known, file_schemas=outputs)
    one.learn([found.report])
    names = {each.name for each in one.schemas.file_schemas.known["a"].fields}
    assert names == {"type", "at", "n", "m", "source"}


def test_a_step_that_cannot_be_done_for_a_dataset_stops_the_feed() -> None:
    feed = with_steps(BY_TYPE, ConvertSpec("flatten", ("n",)))
    with pytest.raises(ConvertRefused, match="dataset 'a': flatten n: it is a int64"):
        deliver(feed, [an_event("a", n=1)])
    only = with_steps(BY_TYPE, ConvertSpec("flatten", ("n",), datasets=("b",)))
    assert len(deliver(only, [an_event("a", n=1)]).rows("a")) == 1


def test_a_plugin_that_is_missing_stops_the_feed_before_anything_is_read() -> None:
    feed = with_steps(BY_TYPE, ConvertSpec("plugin", words=("nobody-has-this",)))
    with pytest.raises(PluginUnknown, match="nobody-has-this"):
        Learning(MemoryStore(), LAYOUT, feed, None, KEYS)


def test_a_plan_travels_with_its_keys_and_never_prints_them() -> None:
    order = StageOrder("f", "1-1", "staging", ())
    plan = ShredPlan(order=order, feed=BY_TYPE, schemas={}, now_s=0.0, format=PARQUET, keys=KEYS)
    assert "salt" not in repr(plan)
    assert "***" in repr(plan)
    travelled = cloudpickle.loads(cloudpickle.dumps(plan))  # type: ignore[no-untyped-call]
    assert travelled.keys.reveal("hash", "h") == b"salt"


def test_a_time_that_is_not_believed_is_refused_once_and_not_converted() -> None:
    feed = msgspec.structs.replace(
        with_steps(BY_TYPE, ConvertSpec("cast", ("n",), ("int64",))),
        time=TimeSpec(field="at", unit="ms"),
        route=RouteSpec("field", "type"),
    )
    late = json.dumps({"type": "a", "at": 1, "n": "x"}).encode()
    found = deliver(feed, [an_event("a", n="1"), late, an_event("a", n="y")])
    assert [offset for offset, _ in reasons(found)] == [1, 2]
    assert reasons(found)[1] == (2, "CAST_FAILED")


def test_the_day_of_a_record_its_key_and_its_headers_become_columns() -> None:
    """Goal: what is set belongs to its own row. Method: rows are refused before and after."""
    names = ("event_date", "key", "trace", "at_offset", "source")
    values = (
        RecordValue("time", "date"),
        RecordValue("key", "string"),
        RecordValue("header", "int64", "trace"),
        RecordValue("offset", "int64"),
        None,
    )
    time = TimeSpec(field="at", unit="ms", zone="Asia/Tokyo")
    feed = msgspec.structs.replace(
        with_steps(
            BY_TYPE,
            ConvertSpec("filter", conditions=(Condition("n", most=8),)),
            ConvertSpec("set", names, constants=(*[None] * 4, "web"), from_record=values),
        ),
        time=time,
    )
    late = NOON_MS + 4 * 3_600_000
    events = [an_event("a", n=n, at=late if n % 2 else NOON_MS) for n in range(10)]
    events[3] = b"{"
    headers = [header("trace", "x" if n == 5 else str(n)) if n != 6 else None for n in range(10)]
    found = deliver(feed, events, headers=headers)
    assert reasons(found) == [(3, "NOT_JSON"), (5, "CAST_FAILED")]
    rows = found.rows("a")
    assert [row["_offset"] for row in rows] == [0, 1, 2, 4, 6, 7, 8]
    for row in rows:
        n = row["n"]
        assert row["at_offset"] == row["_offset"] == n
        assert row["event_date"] == date(2026, 11, 17 if n % 2 else 16)
        assert (row["key"], row["source"]) == ("key", "web")
        assert row["trace"] == (None if n == 6 else n)
    days = {final.split("/")[2] for final in found.finals() if "/a/" in final}
    assert days == {"day=2026-11-16", "day=2026-11-17"}


def test_a_kept_record_without_a_value_has_null_in_columns_that_are_set_from_records() -> None:
    step = ConvertSpec(
        "set", ("t",), constants=(None,), from_record=(RecordValue("topic", "string"),)
    )
    found = deliver(with_steps(BY_TOPIC, step), [b'{"n": 1}', None])
    assert [row["t"] for row in found.rows(TOPIC)] == [TOPIC, None]
