"""What becomes of each kind of payload: the fates that the codec promises, one by one."""

import json
import pickle
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.model.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT64,
    STRING,
    TIMESTAMP_MS,
    TIMESTAMP_US,
    DatasetSchema,
    FieldType,
    decimal_of,
    list_of,
    map_of,
    struct_of,
    with_columns,
)

FAST = JsonDecoder()
REFERENCE = JsonDecoder(exact_only=True)
BOTH = pytest.mark.parametrize("codec", [FAST, REFERENCE], ids=["fast", "reference"])
GOOD = b'{"a":7}'

POISON = {
    "nothing": (b"", "EMPTY"),
    "white space": (b" \n", "NOT_JSON"),
    "bad UTF-8 in a value": (b'{"s":"\xff"}', "NOT_UTF8"),
    "bad UTF-8 in a key": (b'{"\xc0\x80":1}', "NOT_UTF8"),
    "bad UTF-8 in an unknown value": (b'{"zz":"\xed\xa0\x80"}', "NOT_UTF8"),
    "half a character at the end": (b'{"s":"\xc3', "NOT_UTF8"),
    "UTF-16": ('{"a":1}'.encode("utf-16"), "NOT_UTF8"),
    "truncated": (b'{"a":7', "NOT_JSON"),
    "trailing bytes": (b'{"a":7}x', "NOT_JSON"),
    "trailing NUL": (b'{"a":7}\x00', "NOT_JSON"),
    "two documents": (b'{"a":7}{"a":8}', "NOT_JSON"),
    "two lines": (b'{"a":7}\n{"a":8}', "NOT_JSON"),
    "byte-order mark": (b"\xef\xbb\xbf" + GOOD, "NOT_JSON"),
    "NaN": (b'{"d":NaN}', "NOT_JSON"),
    "Infinity": (b'{"d":-Infinity}', "NOT_JSON"),
    "leading zero": (b'{"a":01}', "NOT_JSON"),
    "trailing comma": (b'{"a":1,}', "NOT_JSON"),
    "comment": (b'{"a":1/**/}', "NOT_JSON"),
    "raw control character": (b'{"s":"\n"}', "NOT_JSON"),
    "raw NUL": (b'{"s":"\x00"}', "NOT_JSON"),
    "half a surrogate pair": (b'{"s":"\\ud800"}', "NOT_JSON"),
    "halves in the wrong order": (b'{"s":"\\udc00\\ud800"}', "NOT_JSON"),
    "half a pair in an unknown value": (b'{"zz":"\\ud800x"}', "NOT_JSON"),
    "array": (b"[1]", "NOT_OBJECT"),
    "array of events": (b'[{"a":7}]', "NOT_OBJECT"),
    "string": (b'"x"', "NOT_OBJECT"),
    "number": (b" 1", "NOT_OBJECT"),
    "null": (b"null", "NOT_OBJECT"),
    "open brackets": (b"[" * 100_000, "TOO_DEEP"),
    "deep array": (b'{"zz":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "TOO_DEEP"),
    "deep object": (b'{"a":' * 65 + b"1" + b"}" * 65, "TOO_DEEP"),
    "no JSON at all": (b"\x00\x01\x02", "NOT_JSON"),
}


def _schema(declared: bool = False, **types: FieldType) -> DatasetSchema:
    fields = with_columns([(name, kind, True) for name, kind in types.items()], top=True)
    return DatasetSchema("d", 1, declared, fields)


PLAIN = _schema(a=INT64, d=DOUBLE, s=STRING)


def _binary(*payloads: bytes) -> pa.Array:
    return pa.array(payloads, pa.binary())


def _row(codec: JsonDecoder, payload: bytes, schema: DatasetSchema) -> dict[str, Any]:
    """The one row that a payload gives."""
    decoded = codec.decode(_binary(payload), schema)
    assert decoded.bad == []
    decoded.batch.validate(full=True)
    row: dict[str, Any] = decoded.batch.to_pylist()[0]
    return row


def _fault(codec: JsonDecoder, payload: bytes, schema: DatasetSchema) -> tuple[str, str]:
    decoded = codec.decode(_binary(GOOD, payload), schema)
    (bad,) = decoded.bad
    assert bad.index == 1
    return bad.reason, bad.detail


@BOTH
@pytest.mark.parametrize(("payload", "reason"), POISON.values(), ids=POISON)
def test_poison_is_reported_alone_and_hides_no_neighbour(
    codec: JsonDecoder, payload: bytes, reason: str
) -> None:
    values = _binary(GOOD, payload, b'{"a":8}', payload, GOOD)
    decoded = codec.decode(values, PLAIN)
    assert [(bad.index, bad.reason) for bad in decoded.bad] == [(1, reason), (3, reason)]
    assert decoded.good.tolist() == [0, 2, 4]
    assert decoded.batch["a"].to_pylist() == [7, 8, 7]
    partial = codec.partial_decode(values, ("a", "s"))
    assert [(bad.index, bad.reason) for bad in partial.bad] == [(1, reason), (3, reason)]
    assert partial.fields == [[7, None, 8, None, 7], [None] * 5]


def test_details_never_repeat_the_payload() -> None:
    decoded = FAST.decode(
        _binary(*(b'{"password":"hunter2",' + p for p, _ in POISON.values())), PLAIN
    )
    assert len(decoded.bad) == len(POISON)
    assert not any("hunter2" in bad.detail or "password" in bad.detail for bad in decoded.bad)


@BOTH
def test_the_deepest_payload_that_is_read_has_64_levels(codec: JsonDecoder) -> None:
    fine = b'{"zz":' * 64 + b"1" + b"}" * 64
    assert json.loads(_row(codec, fine, PLAIN)["_rest"]) == json.loads(fine)
    assert codec.partial_decode(_binary(fine), ("a",)).bad == []


@BOTH
def test_brackets_inside_strings_are_not_depth(codec: JsonDecoder) -> None:
    payload = json.dumps({"s": '\\"' + "[{" * 500, "a": 1}).encode()
    assert _row(codec, payload, PLAIN)["a"] == 1
    assert codec.partial_decode(_binary(payload), ("a",)).fields == [[1]]


@BOTH
def test_a_payload_longer_than_the_limit_is_bad(codec: JsonDecoder) -> None:
    small = JsonDecoder(Limits(max_bytes=20), exact_only=codec.exact_only)
    values = _binary(GOOD, b'{"s":"%s"}' % (b"x" * 13), GOOD, b'{"s":"%s"}' % (b"x" * 12))
    for bad in (small.decode(values, PLAIN).bad, small.partial_decode(values, ("a",)).bad):
        assert [(each.index, each.reason) for each in bad] == [(1, "TOO_LONG")]


@BOTH
def test_a_million_digits_are_kept_as_text_and_take_no_time(codec: JsonDecoder) -> None:
    digits = b"9" * 1_000_000
    start = time.process_time()
    decoded = codec.decode(_binary(GOOD, b'{"a":%s}' % digits, b'{"d":%s}' % digits), PLAIN)
    partial = codec.partial_decode(_binary(b'{"a":%s}' % digits, GOOD), ("a",))
    assert time.process_time() - start < 2
    assert decoded.batch["a"].to_pylist() == [7, None, None]
    assert [text and len(text) for text in decoded.batch["_rest"].to_pylist()] == [
        None, 1_000_006, 1_000_006,
    ]  # fmt: skip
    assert partial.bad == []
    assert partial.fields[0][1] == 7


@BOTH
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("-0", 0),
        ("null", None),
    ],
)
def test_integers_that_fit(codec: JsonDecoder, text: str, value: int | None) -> None:
    row = _row(codec, b'{"a":%s}' % text.encode(), PLAIN)
    assert (row["a"], row["_rest"]) == (value, None)


@BOTH
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("9223372036854775808", "OUT_OF_RANGE"),
        ("-9223372036854775809", "OUT_OF_RANGE"),
        ("1.0", "WRONG_TYPE"),
        ("1e2", "WRONG_TYPE"),
        ("true", "WRONG_TYPE"),
        ('"1"', "WRONG_TYPE"),
        ("[1]", "WRONG_TYPE"),
        ('{"a":1}', "WRONG_TYPE"),
    ],
)
def test_integers_that_do_not_fit(codec: JsonDecoder, text: str, reason: str) -> None:
    payload = b'{"a":%s}' % text.encode()
    row = _row(codec, payload, PLAIN)
    assert (row["a"], row["_rest"]) == (None, payload.decode())
    found, detail = _fault(codec, payload, _schema(True, a=INT64))
    assert found == reason
    assert detail.startswith("$.a: ")


@BOTH
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9007199254740992", 2.0**53),
        ("-9007199254740994", -(2.0**53) - 2),
        ("1" + "0" * 22, 1e22),
        ("9007199254740993.0", 2.0**53),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("5e-324", 5e-324),
        ("1e-400", 0.0),
        ("0.1", 0.1),
        ("-0.0", -0.0),
    ],
)
def test_doubles_that_fit(codec: JsonDecoder, text: str, value: float) -> None:
    row = _row(codec, b'{"d":%s}' % text.encode(), PLAIN)
    assert (repr(row["d"]), row["_rest"]) == (repr(value), None)


@BOTH
@pytest.mark.parametrize("text", ["9007199254740993", "1e400", "-1e999", "1" + "0" * 23, "9" * 400])
def test_numbers_that_no_double_holds_keep_every_digit(codec: JsonDecoder, text: str) -> None:
    payload = b'{"d":%s}' % text.encode()
    row = _row(codec, payload, PLAIN)
    assert (row["d"], row["_rest"]) == (None, payload.decode())
    assert _fault(codec, payload, _schema(True, a=INT64, d=DOUBLE))[0] == "OUT_OF_RANGE"


@BOTH
def test_of_a_key_that_comes_twice_the_last_one_wins(codec: JsonDecoder) -> None:
    assert _row(codec, b'{"a":"x","a":1,"s":"1","s":"2"}', PLAIN) == {
        "a": 1, "d": None, "s": "2", "_rest": None,
    }  # fmt: skip
    assert codec.partial_decode(_binary(b'{"a":1,"\\u0061":2}'), ("a",)).fields == [[2]]


@BOTH
def test_text_is_kept_as_it_is(codec: JsonDecoder) -> None:
    row = _row(codec, b'{"\\u0073":"\\u0000\\ud83d\\ude00\xc3\xa9\\/"}', PLAIN)
    assert row["s"] == "\x00😀é/"


@BOTH
def test_unknown_fields_and_misfits_keep_their_own_text(codec: JsonDecoder) -> None:
    schema = _schema(a=INT64, u=struct_of(with_columns([("x", INT64, True)], top=False)))
    payload = b'{"z":1.10, "a":"no", "u":{"x":1,"y":[ 1e400 ]}, "n":null, "b\\"":"\\u00e9"}'
    row = _row(codec, payload, schema)
    assert row["a"] is None
    assert row["u"] == {"x": 1}
    assert row["_rest"] == '{"a":"no","u":{"y":[ 1e400 ]},"b\\"":"\\u00e9","z":1.10}'


@BOTH
def test_the_items_of_a_list_fit_all_or_not_at_all(codec: JsonDecoder) -> None:
    schema = _schema(l=list_of(INT64), m=map_of(INT64))
    row = _row(codec, b'{"l":[1,"2"],"m":{"x":1,"y":[]}}', schema)
    assert row == {"l": None, "m": None, "_rest": '{"l":[1,"2"],"m":{"x":1,"y":[]}}'}


@BOTH
def test_of_a_key_of_a_map_that_comes_twice_only_the_last_value_has_to_fit(
    codec: JsonDecoder,
) -> None:
    schema = _schema(m=map_of(INT64), l=list_of(map_of(list_of(INT64))))
    row = _row(codec, b'{"m":{"x":"no","x":1},"l":[{"x":["no"],"x":[1]}]}', schema)
    assert row == {"m": [("x", 1)], "l": [[("x", [1])]], "_rest": None}


@BOTH
@pytest.mark.parametrize("odd", ['{"x":2,"y":3}', '{"x":2,"l":[true]}'])
def test_a_list_of_objects_is_filled_and_kept_whole(codec: JsonDecoder, odd: str) -> None:
    fields = [("x", INT64, True), ("l", list_of(INT64), True)]
    schema = _schema(l=list_of(struct_of(with_columns(fields, top=False))))
    payload = f'{{"l":[{{"x":1}},{odd}]}}'
    row = _row(codec, payload.encode(), schema)
    assert row == {"l": [{"x": 1, "l": None}, {"x": 2, "l": None}], "_rest": payload}


@BOTH
def test_fields_without_a_column_are_named_with_the_record_that_showed_them(
    codec: JsonDecoder,
) -> None:
    values = _binary(
        b'{"n":null}', b'{"n":[]}', b'{"x":1}', GOOD, b'{"x":2,"n":[1]}', b"{", b'{"y":[1,"2"]}'
    )
    decoded = codec.decode(values, PLAIN)
    assert (decoded.unknown, decoded.unknown_at) == (("n", "x"), (4, 2))


@BOTH
def test_fields_without_a_column_are_found_inside_objects_too(codec: JsonDecoder) -> None:
    inner = struct_of(with_columns([("x", INT64, True)], top=False))
    decoded = codec.decode(
        _binary(b'{"u":{"y":1},"l":[{"z":1}]}'), _schema(u=inner, l=list_of(inner))
    )
    assert decoded.unknown == ("l[].z", "u.y")


def test_fields_that_keep_coming_are_read_along_with_the_same_result() -> None:
    """Goal: the faster reading of unknown fields changes nothing. Method: many chunks, odd ones."""
    odd = [
        b'{"a":1,"x":null,"y":"\\u00e9"}',
        b'{"a":1,"x":{"k":[1]}}',
        b'{"a":"no","x":1}',
        b'{"a":1,"x":"\xff"}',
        b'{"a":1,"x":' + b"[" * 70 + b"]" * 70 + b"}",
        b'{"a":1,"x":[{}',
        b'{"x":1,"x":2,"q\\"":3,"y":[1, 2]}',
        b'{"a":1,"z":1}',
        GOOD,
    ]
    values = _binary(*(odd * 400))
    schema = _schema(a=INT64)
    first, second = FAST.decode(values, schema), FAST.decode(values, schema)
    wanted = REFERENCE.decode(values, schema)
    for found in (first, second):
        assert found.batch.equals(wanted.batch)
        assert found.bad == wanted.bad
        assert np.array_equal(found.good, wanted.good)
        assert (found.unknown, found.unknown_at) == (wanted.unknown, wanted.unknown_at)


def test_an_unknown_field_below_a_nameless_one_is_not_taken_for_a_known_one() -> None:
    inner = struct_of(with_columns([("x", INT64, True)], top=False))
    fields = with_columns([("", inner, True), ("b", INT64, True)], top=True)
    schema = DatasetSchema("d", 1, False, fields)
    values = _binary(*[b'{"":{"x":1,"b":2},"b":3}'] * 3_000)
    decoded = FAST.decode(values, schema)
    assert decoded.unknown == ('"".b',)
    assert set(decoded.batch["b"].to_pylist()) == {3}


DEEP = _schema(
    b=BOOLEAN,
    i=INT64,
    f=DOUBLE,
    s=STRING,
    d=DATE,
    us=TIMESTAMP_US,
    ms=TIMESTAMP_MS,
    n=decimal_of(7, 2),
    ls=list_of(STRING),
    lms=list_of(TIMESTAMP_MS),
    m=map_of(INT64),
    ml=map_of(list_of(struct_of(with_columns([("x", DOUBLE, True)], top=False)))),
    o=struct_of(with_columns([("p", INT64, True), ("P", list_of(INT64), True)], top=False)),
)


def test_columns_have_exactly_these_types() -> None:
    assert arrow_schema(DEEP) == pa.schema(
        [
            ("b", pa.bool_()),
            ("i", pa.int64()),
            ("f", pa.float64()),
            ("s", pa.string()),
            ("d", pa.date32()),
            ("us", pa.timestamp("us", tz="UTC")),
            ("ms", pa.timestamp("us", tz="UTC")),
            ("n", pa.decimal128(7, 2)),
            ("ls", pa.list_(pa.string())),
            ("lms", pa.list_(pa.timestamp("us", tz="UTC"))),
            ("m", pa.map_(pa.string(), pa.int64())),
            ("ml", pa.map_(pa.string(), pa.list_(pa.struct([("x", pa.float64())])))),
            ("o", pa.struct([("p", pa.int64()), ("P__2", pa.list_(pa.int64()))])),
            ("_rest", pa.string()),
        ]
    )


@BOTH
@pytest.mark.parametrize("without", [(), ("n",)], ids=["with a decimal", "without"])
def test_every_type_is_decoded(codec: JsonDecoder, without: tuple[str, ...]) -> None:
    fields = tuple(field for field in DEEP.fields if field.name not in without)
    schema = DatasetSchema("d", 1, True, fields)
    event = {
        "b": True, "i": -1, "f": 2, "s": "x", "d": 19_000, "us": 1, "ms": -1, "n": 12345.6,
        "ls": ["a", None], "lms": [1, None], "m": {"k": 1, "": None},
        "ml": {"k": [{"x": 0.5}, None], "l": None}, "o": {"p": None, "P": [1]},
    }  # fmt: skip
    kept = {name: value for name, value in event.items() if name not in without}
    values = _binary(json.dumps(kept).encode(), b"{}", b'{"o":null,"lms":[],"m":{}}')
    decoded = codec.decode(values, schema)
    assert decoded.bad == []
    assert decoded.batch.schema == arrow_schema(schema)
    decoded.batch.validate(full=True)
    first, second, third = (
        {name: str(value) for name, value in row.items()} for row in decoded.batch.to_pylist()
    )
    assert set(second.values()) == {"None"}
    assert (third["o"], third["lms"], third["m"]) == ("None", "[]", "[]")
    assert first["d"] == "2022-01-08"
    assert first["us"] == "1970-01-01 00:00:00.000001+00:00"
    assert first["ms"] == "1969-12-31 23:59:59.999000+00:00"
    assert first["m"] == "[('k', 1), ('', None)]"
    assert first["ml"] == "[('k', [{'x': 0.5}, None]), ('l', None)]"
    assert first["o"] == "{'p': None, 'P__2': [1]}"
    assert without or first["n"] == "12345.60"


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", "1.00"), ('"1.5"', "1.50"), ("1e2", "100.00"), ("-0.10000", "-0.10"), ("0e99", "0.00")],
)
def test_decimals_are_exact(text: str, value: str) -> None:
    row = _row(FAST, b'{"n":%s}' % text.encode(), _schema(n=decimal_of(5, 2)))
    assert str(row["n"]) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1.005", "OUT_OF_RANGE"),
        ("1000", "OUT_OF_RANGE"),
        ("1e999999999999999999999", "OUT_OF_RANGE"),
        ("1e-9", "OUT_OF_RANGE"),
        ("0." + "0" * 300, "OUT_OF_RANGE"),
        ('"NaN"', "WRONG_TYPE"),
        ('" 1"', "WRONG_TYPE"),
        ('"1_0"', "WRONG_TYPE"),
        ("true", "WRONG_TYPE"),
    ],
)
def test_decimals_are_never_rounded(text: str, reason: str) -> None:
    payload = b'{"n":%s}' % text.encode()
    assert _fault(FAST, payload, _schema(True, n=decimal_of(5, 2)))[0] == reason


@BOTH
@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("d", -719_162, 2_932_896),
        ("ms", -62_135_596_800_000, 253_402_300_799_999),
        ("us", -62_135_596_800_000_000, 253_402_300_799_999_999),
    ],
)
def test_dates_and_times_fit_from_year_1_to_9999(
    codec: JsonDecoder, name: str, first: int, last: int
) -> None:
    schema = _schema(True, a=INT64, ms=TIMESTAMP_MS, us=TIMESTAMP_US, d=DATE)
    for inside, year in ((first, 1), (last, 9999)):
        row = _row(codec, b'{"%s":%d}' % (name.encode(), inside), schema)
        assert row[name].year == year
    for extra_fields in (first - 1, last + 1):
        fault = _fault(codec, b'{"%s":%d}' % (name.encode(), extra_fields), schema)
        assert fault[0] == "OUT_OF_RANGE"


@BOTH
def test_a_declared_field_that_is_required_must_be_there(codec: JsonDecoder) -> None:
    inner = struct_of(with_columns([("x", INT64, False)], top=False))
    entries = [("a", INT64, False), ("u", inner, True), ("l", list_of(INT64, False), True)]
    schema = DatasetSchema("d", 1, True, with_columns(entries, top=True))
    assert not arrow_schema(schema).field("a").nullable
    assert _row(codec, b'{"a":1,"extra":2}', schema)["_rest"] == '{"extra":2}'
    for payload, where in (
        (b"{}", "$.a"),
        (b'{"a":null}', "$.a"),
        (b'{"a":1,"u":{}}', "$.u.x"),
        (b'{"a":1,"u":{"x":null}}', "$.u.x"),
    ):
        reason, detail = _fault(codec, payload, schema)
        assert (reason, detail.partition(":")[0]) == ("MISSING_FIELD", where)
    reason, detail = _fault(codec, b'{"a":1,"l":[1,null]}', schema)
    assert (reason, detail.partition(":")[0]) == ("WRONG_TYPE", "$.l[]")


@BOTH
def test_any_name_can_be_a_field(codec: JsonDecoder) -> None:
    names = ["", "day", "_x", "a.b", 'q"', "back\\slash", "tab\t", "é", "É", "f0", "__x"]
    fields = with_columns([(name, INT64, True) for name in names], top=True)
    schema = DatasetSchema("d", 1, False, fields)
    payload = json.dumps({name: number for number, name in enumerate(names)}).encode()
    row = _row(codec, payload, schema)
    assert list(row.values()) == [*range(len(names)), None]


@BOTH
def test_a_batch_may_be_empty_or_a_slice_and_a_schema_without_fields(codec: JsonDecoder) -> None:
    nothing = _schema()
    assert codec.decode(_binary(), PLAIN).batch.schema == arrow_schema(PLAIN)
    assert codec.partial_decode(_binary(), ("a",)).fields == [[]]
    assert codec.decode(_binary(b"{}", GOOD), nothing).batch.to_pylist() == [
        {"_rest": None}, {"_rest": '{"a":7}'},
    ]  # fmt: skip
    for kind in (pa.binary(), pa.large_binary(), pa.string()):
        values = pa.array([b"{", GOOD, b'{"a":[', b'{"a":8}'], pa.binary()).cast(kind).slice(1, 2)
        assert codec.decode(values, PLAIN).batch["a"].to_pylist() == [7]
        assert [bad.index for bad in codec.partial_decode(values, ("a",)).bad] == [1]


def test_nulls_are_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="records without one"):
        FAST.decode(pa.array([b"{}", None], pa.binary()), PLAIN)


def test_the_codec_travels_to_executors() -> None:
    FAST.decode(_binary(GOOD), PLAIN)
    assert pickle.loads(pickle.dumps(FAST)) == FAST
