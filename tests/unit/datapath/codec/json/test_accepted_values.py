"""Texts that accept scalars or any JSON, values that say nothing, and what is counted of both."""

from typing import Any

import pyarrow as pa
import pytest

from penstock.datapath.codec.json.batch_decode import Decoded
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.codec.json.value_text import says_nothing
from penstock.model.read_ways import NO_COLUMN, NOT_FITTING, OTHER_FORM
from penstock.model.schema import (
    INT64,
    STRING,
    TEXT_OF_JSON,
    TEXT_OF_SCALARS,
    TIME_OF_SCALARS,
    DatasetSchema,
    FieldType,
    ScalarKind,
    list_of,
    struct_of,
    text_of,
    with_columns,
)

FAST = JsonDecoder()
REFERENCE = JsonDecoder(exact_only=True)
BOTH = pytest.mark.parametrize("codec", [FAST, REFERENCE], ids=["fast", "reference"])


def _schema(declared: bool = False, **types: FieldType) -> DatasetSchema:
    fields = with_columns([(name, kind, True) for name, kind in types.items()], top=True)
    return DatasetSchema("d", 1, declared, fields)


def _decoded(codec: JsonDecoder, schema: DatasetSchema, *payloads: bytes) -> Decoded:
    return codec.decode(pa.array(payloads, pa.binary()), schema)


def _row(codec: JsonDecoder, payload: bytes, schema: DatasetSchema) -> dict[str, Any]:
    decoded = _decoded(codec, schema, payload)
    assert decoded.bad == []
    (row,) = decoded.batch.to_pylist()
    return dict(row)


SCALAR_TEXTS = {
    "17": "17",
    "-0": "-0",
    "1.50": "1.50",
    "1e3": "1e3",
    "12345678901234567890": "12345678901234567890",
    "1e400": "1e400",
    "true": "true",
    "false": "false",
    '"C-17"': "C-17",
    '"17"': "17",
    '"\\u00e9\\n"': "\u00e9\n",
    '""': "",
    "null": None,
}


@BOTH
@pytest.mark.parametrize(("written", "content"), SCALAR_TEXTS.items(), ids=SCALAR_TEXTS)
def test_a_text_of_scalars_has_their_digits(
    codec: JsonDecoder, written: str, content: str | None
) -> None:
    row = _row(codec, b'{ "a" :  %s }' % written.encode(), _schema(a=TEXT_OF_SCALARS))
    assert row == {"a": content, "_rest": None}


@BOTH
@pytest.mark.parametrize("written", ["[]", "{}", "[17]", '{"b": 17}'])
def test_an_object_or_a_list_is_not_a_scalar(codec: JsonDecoder, written: str) -> None:
    payload = b'{"a":%s}' % written.encode()
    row = _row(codec, payload, _schema(a=TEXT_OF_SCALARS))
    assert row == {"a": None, "_rest": payload.decode()}
    (bad,) = _decoded(codec, _schema(True, a=TEXT_OF_SCALARS), payload).bad
    found = "array" if written.startswith("[") else "object"
    assert (bad.reason, bad.detail) == ("WRONG_TYPE", f"$.a: wanted string, found {found}")


@BOTH
@pytest.mark.parametrize(
    "written", ["17", "1.50", "true", '"C-17"', '"\\u00e9"', "[ 1, {} ]", '{ "b":null}', "[]", "{}"]
)
def test_a_text_of_json_is_the_value_as_it_was_written(codec: JsonDecoder, written: str) -> None:
    row = _row(codec, b'{"a": %s ,"b":1}' % written.encode(), _schema(a=TEXT_OF_JSON, b=INT64))
    assert row == {"a": written, "b": 1, "_rest": None}


@BOTH
def test_null_is_null_for_any_text(codec: JsonDecoder) -> None:
    schema = _schema(a=TEXT_OF_JSON, b=TEXT_OF_SCALARS)
    assert _row(codec, b'{"a":null}', schema) == {"a": None, "b": None, "_rest": None}


@BOTH
def test_texts_accept_at_any_depth(codec: JsonDecoder) -> None:
    item = struct_of(with_columns([("id", TEXT_OF_SCALARS, True)], top=False))
    schema = _schema(items=list_of(item), tags=list_of(TEXT_OF_SCALARS))
    row = _row(codec, b'{"items":[{"id":1.0},{"id":"x"},null],"tags":[1,"2",null]}', schema)
    assert row["items"] == [{"id": "1.0"}, {"id": "x"}, None]
    assert (row["tags"], row["_rest"]) == (["1", "2", None], None)


@pytest.mark.parametrize("kind", [INT64, list_of(STRING)])
def test_only_texts_and_times_accept_more(kind: FieldType) -> None:
    with pytest.raises(ValueError, match="cannot accept scalars"):
        FieldType(kind.kind, item=kind.item, accepts="scalars")
    with pytest.raises(ValueError, match="cannot accept json"):
        FieldType("timestamp_us", accepts="json")


def test_times_are_read_as_texts_first() -> None:
    with pytest.raises(ValueError, match="become times afterwards"):
        _decoded(FAST, _schema(a=TIME_OF_SCALARS), b'{"a":1}')


NOTHING = [
    "null", "[]", "{}", "[ ]", "{ }", '{"b":null}', '{"b":[],"c":{"d":{}}}', "[null]", "[[ ]]",
    '[{},null,{"b":[null]}]',
]  # fmt: skip
SOMETHING = [
    "0",
    '""',
    "false",
    "[null,0]",
    '[[""]]',
    '{"b":[{"c":false}]}',
    '{"b":{"c":0}}',
    '{"b":0,"b":null}',
]


@pytest.mark.parametrize("written", NOTHING)
def test_values_that_say_nothing_are_known(written: str) -> None:
    assert says_nothing(written.encode())


@pytest.mark.parametrize("written", SOMETHING)
def test_all_other_values_say_something(written: str) -> None:
    assert not says_nothing(written.encode())


@BOTH
@pytest.mark.parametrize("written", NOTHING)
def test_an_unknown_field_that_says_nothing_is_absent_and_counted(
    codec: JsonDecoder, written: str
) -> None:
    schema = _schema(u=struct_of(with_columns([("x", INT64, True)], top=False)))
    payload = b'{"u":{"x":1,"n":%s},"m":%s}' % (written.encode(), written.encode())
    decoded = _decoded(codec, schema, *[payload] * 40)  # often enough to be read along
    assert decoded.batch.to_pylist() == [{"u": {"x": 1}, "_rest": None}] * 40
    assert (decoded.unknown, decoded.counts.misfits) == ((), {})
    assert decoded.counts.empty == 80


def test_a_value_that_says_nothing_does_not_fit_a_column_of_another_kind() -> None:
    assert _row(FAST, b'{"a":[]}', _schema(a=INT64)) == {"a": None, "_rest": '{"a":[]}'}


def test_records_are_counted_by_their_way_with_the_reason_and_a_path() -> None:
    inside = struct_of(with_columns([("id", INT64, True)], top=False))
    decoded = _decoded(
        FAST,
        _schema(a=INT64, user=inside),
        b'{"a":1}',
        b'{"a":"x"}',
        b'{"a":2,"user":{"id":1.5}}',
        b'{"a":3,"b":1}',
        b'{"a":',
        b'{"a":12345678901234567890,"b":"t"}',
        b'{"a":-0}',
    )
    counts = decoded.counts
    assert (counts.fast, counts.reference) == (6, 1)
    assert counts.reasons == {"NOT_JSON": (1, "")}
    assert counts.misfits == {
        ("a", "int64", "string"): (1, 1),
        ("user.id", "int64", "fraction"): (1, 2),
        ("b", "", "integer"): (1, 3),
        ("a", "int64", "number out of range"): (1, 5),
        ("b", "", "string"): (1, 5),
    }


def test_the_reference_says_what_was_odd() -> None:
    twice = [b'{"a":1,"a":2}', b'{"a":1,"a":"x"}', b'{"b":1,"b":2}']
    counts = _decoded(FAST, _schema(a=INT64), *twice).counts
    assert (counts.fast, counts.reference) == (0, 3)
    assert counts.reasons == {OTHER_FORM: (1, ""), NOT_FITTING: (1, "a"), NO_COLUMN: (1, "b")}


def test_a_misfit_of_many_items_is_one_of_its_record() -> None:
    item = struct_of(with_columns([("id", INT64, True)], top=False))
    payload = b'{"items":[{"id":"a"},{"id":"b"},{"id":3}]}'
    counts = _decoded(FAST, _schema(items=list_of(item)), payload, payload).counts
    assert counts.misfits == {("items[].id", "int64", "string"): (2, 0)}


def test_keys_that_are_data_do_not_fill_the_counts() -> None:
    payloads = [b'{"k%d":1}' % number for number in range(1_000)]
    counts = _decoded(FAST, _schema(a=INT64), *payloads).counts
    assert len(counts.misfits) == 256


@BOTH
@pytest.mark.parametrize(
    ("kinds", "fitting", "other"),
    [
        ({"integer", "string"}, ["1", '"C-1"', "12345678901234567890"], ["true", "1.5", "1e3"]),
        ({"number", "string"}, ["1", "1.5", '"x"'], ["true", "false"]),
        ({"boolean", "integer"}, ["true", "-7"], ['"x"', "1.5", "1.0"]),
        ({"boolean", "string"}, ["false", '"x"'], ["1", "1.5"]),
    ],
)
def test_a_declared_text_takes_only_the_kinds_that_the_schema_names(
    codec: JsonDecoder, kinds: set[ScalarKind], fitting: list[str], other: list[str]
) -> None:
    payloads = [b'{"a": %s}' % each.encode() for each in (*fitting, *other, "{}", "[1]")]
    decoded = _decoded(codec, _schema(True, a=text_of(kinds)), *payloads)
    found = [row["a"] for row in decoded.batch.to_pylist()]
    assert found == [each.strip('"') for each in fitting]
    assert [bad.reason for bad in decoded.bad] == ["WRONG_TYPE"] * (len(other) + 2)
    assert f"wanted {' or '.join(sorted(kinds))}, found" in decoded.bad[0].detail
    assert decoded.counts.fast == (0 if codec.exact_only else len(fitting))
