"""Converters: what each step makes of fields and of columns."""

import hashlib
import hmac
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from penstock.datapath.shape.convert.cast import cast_type
from penstock.datapath.shape.convert.converters import converted_fields
from penstock.datapath.shape.convert.flow import ConvertImpossible, Flow, Given, Origin
from penstock.datapath.shape.convert.rest_column import Rest, hidden_paths
from penstock.model.convert_spec import Condition, ConvertSpec, Verb, steps_for
from penstock.model.schema import BINARY, BOOLEAN, INT64, STRING, list_of, map_of, struct_of
from tests.helpers.conversions import FIELDS, KEY, KEYS, ROWS, table, through
from tests.helpers.schema_fields import fields


def test_fields_get_other_names_at_their_places() -> None:
    flow = through(ConvertSpec("rename", ("who", "device.os", "nothing"), ("email", "system", "x")))
    assert [each.name for each in flow.fields] == ["n", "email", "x", "device", "tags"]
    assert table(flow)["device"][0] == {"system": "ios", "build": 7}
    with pytest.raises(ConvertImpossible, match="two fields"):
        through(ConvertSpec("rename", ("who",), ("n",)))


def test_fields_are_dropped_or_kept_also_inside_others() -> None:
    flow = through(ConvertSpec("drop", ("who", "device.build", "a.b", "n.x")))
    assert table(flow)["device"] == [{"os": "ios"}, None, {"os": None}]
    assert "who" not in table(flow)
    assert "device" not in table(through(ConvertSpec("drop", ("device.build", "device.os"))))
    assert list(table(through(ConvertSpec("keep", ("x", "n", "none"))))) == ["n", "x"]


def test_constants_are_set_new_or_instead() -> None:
    flow = through(ConvertSpec("set", ("source", "n", "ok"), constants=("web", 7, True)))
    found = table(flow)
    assert found["source"] == ["web"] * 3
    assert found["n"] == [7] * 3
    assert next(each.type for each in flow.fields if each.name == "ok") == BOOLEAN


def test_what_is_inside_comes_out() -> None:
    found = table(through(ConvertSpec("flatten", ("device",))))
    assert (found["device_os"], found["device_build"]) == (["ios", None, None], [7, None, 8])
    with pytest.raises(ConvertImpossible, match="it is a int64"):
        through(ConvertSpec("flatten", ("n",)))


def test_texts_are_masked_and_nulls_stay() -> None:
    found = table(through(ConvertSpec("mask", ("who", "n"), ("4", ""))))
    assert found["who"] == ["***.org", "***", None]
    assert found["n"] == ["***", None, "***"]


def test_equal_values_have_equal_hashes_and_no_other_has() -> None:
    found = table(through(ConvertSpec("hash", ("who", "n"), ("salt", "salt"))))
    wanted = hmac.new(b"pepper", b"ann@example.org", hashlib.sha256).hexdigest()
    assert found["who"][0] == wanted
    assert found["who"][2] is None
    assert found["n"][0] != found["n"][2]
    with pytest.raises(ConvertImpossible, match="hash tags"):
        through(ConvertSpec("hash", ("tags",), ("salt",)))


def test_a_whole_double_is_hidden_as_the_whole_number() -> None:
    rows = [{"n": n, "x": float(n)} for n in (5, 123456789012)]
    found = table(through(ConvertSpec("hash", ("n", "x"), ("salt", "salt")), rows=rows))
    assert found["n"] == found["x"]
    assert table(through(ConvertSpec("mask", ("x",), ("4",)), rows=rows))["x"] == ["***", "***9012"]


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        (Condition("n", one_of=(1, 7)), [0]),
        (Condition("who", fits="[0-9]+"), [1]),
        (Condition("who", fits="ann"), []),
        (Condition("who", null=True), [2]),
        (Condition("who", null=False), [0, 1]),
        (Condition("none", null=True), [0, 1, 2]),
        (Condition("none", one_of=("x",)), []),
        (Condition("device.build", least=8), [2]),
        (Condition("x", most=1.5), [0]),
        (Condition("n", least=1, most=2), [0]),
        (Condition("n", multiple_of=3), [2]),
        (Condition("x", multiple_of=1), []),
        (Condition("who", least=1), []),
        (Condition("device", one_of=("x",)), []),
        (Condition("device", null=False), [0, 2]),
        (Condition("x", one_of=(2, None)), [1, 2]),
    ],
)
def test_rows_that_do_not_fulfil_a_condition_are_filtered(
    condition: Condition, kept: list[int]
) -> None:
    flow = through(ConvertSpec("filter", conditions=(condition,)))
    assert flow.rows.tolist() == kept
    gone = [row for part in flow.filtered for row in part.tolist()]
    assert sorted([*kept, *gone]) == [0, 1, 2]
    assert flow.bad == []


def test_a_filter_compares_decimals_as_numbers_and_fits_texts_alone() -> None:
    cast = ConvertSpec("cast", ("n",), ("decimal(10, 2)",))
    asked = ConvertSpec("filter", conditions=(Condition("n", one_of=(3, 3.005)),))
    assert through(cast, asked).rows.tolist() == [2]
    for path in ("n", "x", "device.build"):
        assert (
            through(ConvertSpec("filter", conditions=(Condition(path, fits=".*"),))).rows.size == 0
        )


def test_a_value_that_cannot_be_cast_makes_its_record_bad_alone() -> None:
    flow = through(ConvertSpec("cast", ("who", "x"), ("int64", "string")))
    assert flow.rows.tolist() == [1, 2]
    assert [(bad.index, bad.reason) for bad in flow.bad] == [(0, "CAST_FAILED")]
    assert table(flow)["who"] == [12, None]
    assert table(flow)["x"] == [None, "2"]


def test_bad_and_filtered_rows_are_numbered_as_in_the_batch() -> None:
    flow = through(
        ConvertSpec("filter", conditions=(Condition("n", null=True),)),
        ConvertSpec("cast", ("who",), ("boolean",)),
    )
    assert flow.rows.tolist() == []
    assert [part.tolist() for part in flow.filtered] == [[0, 2]]
    assert [bad.index for bad in flow.bad] == [1]


def test_whole_numbers_become_decimals_as_far_as_they_fit() -> None:
    rows = [{"n": n} for n in (5, -7, 12345, None)]
    flow = through(ConvertSpec("cast", ("n",), ("decimal(5, 2)",)), rows=rows)
    assert table(flow)["n"] == [Decimal("5.00"), Decimal("-7.00"), None]
    assert [bad.index for bad in flow.bad] == [2]


def test_one_bad_value_among_many_is_found() -> None:
    rows = [{"who": "x" if n in (3, 500, 999) else str(n)} for n in range(1000)]
    flow = through(ConvertSpec("cast", ("who",), ("int64",)), rows=rows)
    assert [bad.index for bad in flow.bad] == [3, 500, 999]
    assert table(flow)["who"] == [n for n in range(1000) if n not in (3, 500, 999)]


def test_times_and_days_are_read_from_texts() -> None:
    rows = [{"who": "2026-11-16T12:00:00+01:00"}, {"who": "2026-11-16"}]
    time = through(ConvertSpec("cast", ("who",), ("timestamp",)), rows=rows)
    assert table(time)["who"][0].isoformat() == "2026-11-16T11:00:00+00:00"
    assert [bad.index for bad in time.bad] == [1]
    day = through(ConvertSpec("cast", ("who",), ("date",)), rows=rows)
    assert table(day)["who"][0].isoformat() == "2026-11-16"
    for path, word in (("n", "date"), ("x", "timestamp"), ("tags", "string")):
        with pytest.raises(ConvertImpossible):
            through(ConvertSpec("cast", (path,), (word,)))


@pytest.mark.parametrize("word", ["decimal(10, 2)", "date", "timestamp", "boolean", "double"])
def test_types_are_known_by_their_words(word: str) -> None:
    assert cast_type(word).kind == word.partition("(")[0].replace("timestamp", "timestamp_us")


@pytest.mark.parametrize("word", ["", "int", "decimal(1)", "decimal(a, b)", "list"])
def test_other_words_are_no_types(word: str) -> None:
    with pytest.raises(ConvertImpossible):
        cast_type(word)


def test_no_rows_stay_no_rows() -> None:
    flow = through(ConvertSpec("mask", ("who",), ("",)), rows=[])
    assert flow.rows.tolist() == []


def test_a_struct_keeps_the_fields_that_are_named_inside_it() -> None:
    found = table(through(ConvertSpec("keep", ("device.os", "n.x"))))
    assert found == {"device": [{"os": "ios"}, None, {"os": None}]}


def test_two_fields_never_get_one_name() -> None:
    for step in (
        ConvertSpec("rename", ("device.os",), ("build",)),
        ConvertSpec("rename", ("who", "x"), ("a", "a")),
    ):
        with pytest.raises(ConvertImpossible, match="two fields"):
            through(step)
    with pytest.raises(ConvertImpossible, match="two fields"):
        through(
            ConvertSpec("rename", ("who",), ("device_os",)), ConvertSpec("flatten", ("device",))
        )


def test_an_expression_that_nobody_takes_is_found_before_there_are_rows() -> None:
    for path in ("who", "n", "nothing"):
        step = ConvertSpec("filter", conditions=(Condition(path, fits="(?=x)"),))
        with pytest.raises(ConvertImpossible, match="RE2"):
            converted_fields((step,), FIELDS, Given())


def test_steps_are_for_the_datasets_that_they_name() -> None:
    steps = (ConvertSpec("drop", ("a",)), ConvertSpec("drop", ("b",), datasets=("a b",)))
    assert steps_for(steps, "x") == steps[:1]
    assert steps_for(steps, "a%20b") == steps


ENCRYPT = ConvertSpec("encrypt", ("who", "n", "device.os"), ("key", "key", "key"))


def test_an_encrypted_value_opens_with_the_key_and_plain_calls() -> None:
    flow = through(ENCRYPT)
    assert {f.name for f in flow.fields if f.type == BINARY} == {"who", "n"}
    found = table(flow)
    opened = [
        None if value is None else AESGCM(KEY).decrypt(value[:12], value[12:], None).decode()
        for value in [*found["who"], *found["n"], found["device"][0]["os"]]
    ]
    assert opened == ["ann@example.org", "12", None, "1", None, "3", "ios"]
    with pytest.raises(InvalidTag):
        AESGCM(bytes(32)).decrypt(found["who"][0][:12], found["who"][0][12:], None)
    with pytest.raises(ConvertImpossible, match="encrypt tags"):
        through(ConvertSpec("encrypt", ("tags",), ("key",)))


def test_a_retry_encrypts_alike_and_no_two_places_share_a_nonce() -> None:
    rows = [{"who": "same", "device": {"os": "same"}}] * 2
    places = [
        Origin("d", "id", 0, np.array([7, 8])),
        Origin("e", "id", 0, np.array([7, 8])),
        Origin("d", "id2", 0, np.array([7, 8])),
        Origin("d", "id", 1, np.array([7, 8])),
    ]
    step = ConvertSpec("encrypt", ("who", "device.os"), ("key", "key"))
    values = []
    for place in places:
        found = table(through(step, rows=rows, origin=place))
        assert found == table(through(step, rows=rows, origin=place))
        values += [*found["who"], *(each["os"] for each in found["device"])]
    assert len({value[:12] for value in values}) == len(values) == 16
    split = through(step, rows=rows[1:], origin=Origin("d", "id", 0, np.array([8])))
    assert table(split)["who"][0] == values[1], "however records were cut into batches"


def test_filtered_rows_do_not_shift_what_is_encrypted() -> None:
    kept = through(ConvertSpec("filter", conditions=(Condition("who", fits="1.*"),)), ENCRYPT)
    assert table(kept)["who"] == [table(through(ENCRYPT))["who"][1]]


NESTED = fields(
    items=(list_of(struct_of(fields(ssn=(STRING, True)))), True),
    user=(struct_of(fields(labels=(map_of(STRING), True), n=(INT64, True))), True),
)


@pytest.mark.parametrize("path", ["items.ssn", "items.none.x", "user.labels.ssn", "who.labels.x"])
@pytest.mark.parametrize("verb", ["mask", "hash", "encrypt", "drop", "keep"])
def test_nothing_in_a_list_or_a_map_is_left_in_the_clear_without_a_word(
    verb: Verb, path: str
) -> None:
    word = {"hash": "salt", "encrypt": "key"}.get(verb, "")
    rename = ConvertSpec("rename", ("user", "who.n"), ("who", "m"))
    renamed = (rename,) if path.startswith("who") else ()
    why = "it lies in a list" if path.startswith("items") else "it lies in a map"
    with pytest.raises(ConvertImpossible, match=f"{verb} {path}: {why}"):
        converted_fields((*renamed, ConvertSpec(verb, (path,), (word,))), NESTED, Given(KEYS))


def test_other_steps_find_no_field_in_a_list() -> None:
    steps = (
        ConvertSpec("rename", ("items.ssn",), ("s",)),
        ConvertSpec("cast", ("items.ssn",), ("int64",)),
        ConvertSpec("flatten", ("user.labels.x",)),
        ConvertSpec("filter", conditions=(Condition("items.ssn", null=True),)),
        ConvertSpec("drop", ("user.n.x",)),
    )
    assert converted_fields(steps, NESTED, Given(KEYS)) == NESTED
    assert converted_fields((ConvertSpec("keep", ("items", "user")),), NESTED, Given()) == NESTED
    assert converted_fields((ConvertSpec("drop", ("items", "user")),), NESTED, Given()) == ()


REST = ['{"ssn":1.50,"device":{"imei":"x","new":2}}', None, '{"who":[1],"day":"a"}']


def rest_of(flow: Flow) -> list[Any]:
    found: list[Any] = flow.rest.column(flow.rows).to_pylist()
    return found


def test_what_has_no_column_stays_as_it_was() -> None:
    steps = (
        ConvertSpec("rename", ("who",), ("email",)),
        ConvertSpec("cast", ("x",), ("string",)),
        ConvertSpec("flatten", ("device",)),
    )
    assert rest_of(through(*steps, rest=REST)) == REST


@pytest.mark.parametrize("order", [[2, 1, 0], [1, 0, 2], [0, 1, 2], [2, 0], []])
def test_what_has_no_column_stays_with_its_row_in_any_order(order: list[int]) -> None:
    """A plug-in may give rows back in another order."""
    rows = np.array(order, np.int64)
    untouched, changed = Rest(pa.array(REST)), Rest(pa.array(REST))
    assert untouched.column(rows).to_pylist() == [REST[row] for row in order]
    changed.drop("ssn")
    device = '{"device":{"imei":"x","new":2}}'
    left = [device, *REST[1:]]
    assert changed.column(rows).to_pylist() == [left[row] for row in order]


def test_what_is_dropped_is_dropped_from_the_rest_too() -> None:
    flow = through(ConvertSpec("drop", ("ssn", "device.imei", "day")), rest=REST)
    assert rest_of(flow) == ['{"device":{"new":2}}', None, '{"who":[1]}']
    only = through(ConvertSpec("keep", ("n", "ssn", "device.new", "who")), rest=REST)
    assert rest_of(only) == ['{"ssn":1.50,"device":{"new":2}}', None, '{"who":[1]}']
    assert rest_of(through(ConvertSpec("keep", ("n",)), rest=REST)) == [None, None, None]
    instead = through(ConvertSpec("set", ("ssn",), constants=(None,)), rest=REST)
    assert rest_of(instead)[0] == '{"device":{"imei":"x","new":2}}'
    blocked = through(ConvertSpec("drop", ("who.name",)), rest=REST)
    assert [(bad.index, bad.reason) for bad in blocked.bad] == [(2, "CONVERT_FAILED")]


@pytest.mark.parametrize(
    "steps",
    [
        (ConvertSpec("hash", ("ssn", "who"), ("salt", "salt")),),
        (ConvertSpec("mask", ("ssn", "who"), ("", "2")),),
        (ConvertSpec("encrypt", ("ssn", "who"), ("key", "key")),),
        (
            ConvertSpec("rename", ("ssn", "who"), ("s", "w")),
            ConvertSpec("mask", ("s", "w"), ("", "")),
        ),
        (
            ConvertSpec("flatten", ("device",)),
            ConvertSpec("hash", ("device_imei", "who.name"), ("salt", "salt")),
        ),
    ],
)
def test_what_is_to_be_hidden_and_has_no_column_is_bad_and_not_seen(
    steps: tuple[ConvertSpec, ...],
) -> None:
    flow = through(*steps, rest=REST)
    assert flow.rows.tolist() == [1]
    assert {bad.reason for bad in flow.bad} == {"CONVERT_FAILED"}
    assert rest_of(flow) == [None]


def test_a_key_that_is_there_twice_hides_nothing_from_the_steps() -> None:
    rest = [
        '{"user": {"ssn": "secret", "ssn": null, "y": 1.50}}',
        '{"user": {"id": {"ssn": "secret"}, "id": {"y":1e400}}}',
        '{"user": {"y": 2, "y": 3}}',
    ]
    step = ConvertSpec("hash", ("user.ssn", "user.id.ssn"), ("salt", "salt"))
    flow = through(step, rest=rest)
    assert rest_of(flow)[:2] == ['{"user":{"ssn":null,"y":1.50}}', '{"user":{"id":{"y":1e400}}}']
    assert "secret" not in str(rest_of(through(ConvertSpec("drop", step.paths), rest=rest)))


def test_fields_that_were_renamed_pair_after_pair_are_still_hidden() -> None:
    for pairs in (
        {"user.mail": "email", "user": "person"},
        {"user": "person", "person.mail": "email"},
    ):
        steps = (
            ConvertSpec("rename", tuple(pairs), tuple(pairs.values())),
            ConvertSpec("hash", ("person.email",), ("salt",)),
        )
        assert ("user", "mail") in hidden_paths(steps)
        rest = ['{"user": {"mail": "x@y.z"}}', None, '{"person": {"email": "x@y.z"}}']
        assert rest_of(through(*steps, rest=rest)) == [None]


def test_a_filter_sees_what_has_no_column() -> None:
    step = ConvertSpec("filter", conditions=(Condition("ssn", most=2),))
    assert through(step, rest=REST).rows.tolist() == [0]
    step = ConvertSpec("filter", conditions=(Condition("day", one_of=("a",)),))
    assert through(step, rest=REST).rows.tolist() == [2]


@pytest.mark.parametrize("deep", ["%s", '{"deep": %s}', "[%s]"])
@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" + "0" * 400, "1" + "0" * 5_000])
def test_no_number_is_too_large_for_a_filter(number: str, deep: str) -> None:
    value = deep % number
    rest = [f'{{"n": {value}}}', None, '{"n": 2}']
    asked = [Condition("n", least=1), Condition("n", fits="1.*"), Condition("n", one_of=(1,))]
    rows = [{**row, "n": None} for row in ROWS]
    for condition in asked:
        flow = through(ConvertSpec("filter", conditions=(condition,)), rows=rows, rest=rest)
        is_large = condition.least is not None and value == "1" + "0" * 400
        assert (0 in flow.rows) == is_large
    there = ConvertSpec("filter", conditions=(Condition("new.n", null=False),))
    assert 0 in through(there, rest=[f'{{"new": {{"n": {value}}}}}', None, None]).rows


def test_keys_never_print_themselves() -> None:
    assert f"{KEYS} {KEYS!r} {Given(KEYS)}".count("pepper") == 0
    assert "***" in repr(Given(KEYS))
