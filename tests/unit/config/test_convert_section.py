"""The list of converters below a feed: each verb, each mistake; secrets stay references."""

import base64
from pathlib import Path

import msgspec
import pytest

from penstock.config.convert_section import reveal_keys
from penstock.config.errors import ConfigInvalid
from penstock.config.set_section import TYPES
from penstock.datapath.shape.convert.cast import cast_type
from penstock.model.convert_spec import Condition, ConvertSpec, RecordValue
from penstock.model.spec import FeedSpec
from tests.helpers.feed_sections import feed_of, mistake_of

KEY = bytes(range(32))


def test_each_verb_becomes_a_step(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("x")
    found = feed_of(
        tmp_path,
        "convert: [{rename: {old: new, a.b: c}}, {drop: [a, b.c]}, {keep: [x]}, "
        "{cast: {n: int64, d: 'decimal(10, 2)'}}, {set: {source: web, n: 7, ok: true, no: ~}}, "
        "{filter: {country: [DE, FR]}}, {flatten: [device]}, {mask: {phone: 4}}, {mask: [mail]}, "
        "{hash: {email: '${env:KEY}'}}, {encrypt: {ssn: '${file:key}'}}, "
        "{plugin: shout, options: {ending: '!', times: 2}, datasets: [a b]}, {drop: [a, b.c]}]",
    ).convert
    assert found == (
        ConvertSpec("rename", ("old", "a.b"), ("new", "c")),
        ConvertSpec("drop", ("a", "b.c")),
        ConvertSpec("keep", ("x",)),
        ConvertSpec("cast", ("n", "d"), ("int64", "decimal(10, 2)")),
        ConvertSpec("set", ("source", "n", "ok", "no"), constants=("web", 7, True, None)),
        ConvertSpec("filter", conditions=(Condition("country", one_of=("DE", "FR")),)),
        ConvertSpec("flatten", ("device",)),
        ConvertSpec("mask", ("phone",), ("4",)),
        ConvertSpec("mask", ("mail",), ("",)),
        ConvertSpec("hash", ("email",), ("${env:KEY}",)),
        ConvertSpec("encrypt", ("ssn",), (f"${{file:{tmp_path}/key}}",)),
        ConvertSpec("plugin", ("ending", "times"), ("shout",), ("!", 2), datasets=("a b",)),
        ConvertSpec("drop", ("a", "b.c")),
    )


@pytest.mark.parametrize(
    ("step", "path", "words"),
    [
        ("{}", "[0]", "found no verb"),
        ("{drop: [a], keep: [b]}", "[0]", "found drop and keep"),
        ("{dorp: [a], keep: [b]}", "[0].dorp", "did you mean 'drop'?"),
        ("{drop: [a], options: {}}", "[0].options", "unknown key"),
        ("drop", "[0]", "found a single value"),
        ("{drop: a}", "[0].drop", "a list such as"),
        ("{drop: []}", "[0].drop", "an empty list"),
        ("{drop: [a..b]}", "[0].drop[0]", "a path such as"),
        ("{drop: [a, a]}", "[0].drop[1]", "there twice"),
        ("{keep: []}", "[0].keep", "an empty list"),
        ("{flatten: {a: b}}", "[0].flatten", "a list such as"),
        ("{rename: {}}", "[0].rename", "found nothing"),
        ("{rename: [a]}", "[0].rename", "a mapping of keys"),
        ("{rename: {a: b.c}}", "[0].rename.a", "a name without a dot"),
        ("{rename: {a: ~}}", "[0].rename.a", "found nothing"),
        ("{cast: {a: int}}", "[0].cast.a", "did you mean 'int64'?"),
        ("{cast: {a: 'decimal(39, 2)'}}", "[0].cast.a", "decimal(precision, scale)"),
        ("{cast: {a: 'decimal(2, 3)'}}", "[0].cast.a", "decimal(precision, scale)"),
        ("{cast: {a: 'decimal(0, 0)'}}", "[0].cast.a", "decimal(precision, scale)"),
        ("{cast: {.a: int64}}", "[0].cast..a", "a path such as"),
        ("{set: {}}", "[0].set", "found nothing"),
        ("{set: {a.b: 1}}", "[0].set.a.b", "a name without a dot"),
        ("{set: {a: [1]}}", "[0].set.a", "a text, a number"),
        ("{set: {a: 99999999999999999999}}", "[0].set.a", "of more than 64 bits"),
        ("{set: {a: '${env:X}'}}", "[0].set.a", "a reference to a secret"),
        ("{set: {a: {}}}", "[0].set.a.from", "missing, and required"),
        ("{set: {a: {as: date}}}", "[0].set.a.from", "missing, and required"),
        ("{set: {a: {from: tiem}}}", "[0].set.a.from", "did you mean 'time'?"),
        ("{set: {a: {from: header}}}", "[0].set.a.from", "header:NAME"),
        ("{set: {a: {from: 'key:x'}}}", "[0].set.a.from", "header:NAME"),
        ("{set: {a: {from: time, as: day}}}", "[0].set.a.as", "found 'day'"),
        ("{set: {a: {from: time, as: bytes}}}", "[0].set.a", "time as timestamp | date"),
        ("{set: {a: {from: topic, as: int64}}}", "[0].set.a", "topic as string"),
        ("{set: {a: {from: time, zone: UTC}}}", "[0].set.a.zone", "unknown key"),
        ("{set: {a.b: {from: time}}}", "[0].set.a.b", "a name without a dot"),
        ("{filter: {}}", "[0].filter", "found no condition"),
        ("{filter: {a: {least: x}}}", "[0].filter.a.least", "a number"),
        ("{mask: {a: -1}}", "[0].mask.a", "the number of characters"),
        ("{mask: a}", "[0].mask", "a mapping of keys"),
        ("{hash: {a: geheim}}", "[0].hash.a", "not a reference to a secret"),
        ("{hash: {a: 'x${env:X}'}}", "[0].hash.a", "not a reference to a secret"),
        ("{encrypt: {a: '${vault:x}'}}", "[0].encrypt.a", "not a reference to a secret"),
        ("{encrypt: [a]}", "[0].encrypt", "a mapping of keys"),
        ("{plugin: ~}", "[0].plugin", "found nothing"),
        ("{plugin: p, options: [a]}", "[0].options", "a mapping of keys"),
        ("{plugin: p, options: {a: {b: c}}}", "[0].options.a", "a text, a number"),
        ("{drop: [a], datasets: []}", "[0].datasets", "an empty list"),
        ("{drop: [a], datasets: x}", "[0].datasets", "a list such as"),
    ],
)
def test_a_mistake_names_its_place_and_no_secret(
    tmp_path: Path, step: str, path: str, words: str
) -> None:
    mistake = mistake_of(tmp_path, f"convert: [{step}]")
    assert (mistake.path, mistake.line) == (f"feeds.events.convert{path}", 7)
    assert words in str(mistake)
    assert "geheim" not in str(mistake)


@pytest.mark.parametrize("word", [*TYPES, "decimal(38, 0)", "decimal( 5 ,2 )"])
def test_every_type_that_passes_is_one(tmp_path: Path, word: str) -> None:
    (step,) = feed_of(tmp_path, f"convert: [{{cast: {{a: '{word}'}}}}]").convert
    assert cast_type(step.words[0]).kind == word.partition("(")[0].replace("stamp", "stamp_us")


def test_a_field_is_set_from_the_record_or_to_a_constant(tmp_path: Path) -> None:
    (step,) = feed_of(
        tmp_path,
        "convert: [{set: {day_of: {from: time, as: date}, source: web, at: {from: time}, "
        "seen: {from: timestamp}, t: {from: topic}, p: {from: partition}, o: {from: offset}, "
        "k: {from: key}, trace: {from: 'header:trace:id', as: bytes}, "
        "n: {from: 'header:n', as: 'decimal(5, 2)'}}}]",
    ).convert
    assert dict(zip(step.paths, step.from_record, strict=True)) == {
        "day_of": RecordValue("time", "date"),
        "source": None,
        "at": RecordValue("time", "timestamp"),
        "seen": RecordValue("timestamp", "timestamp"),
        "t": RecordValue("topic", "string"),
        "p": RecordValue("partition", "int64"),
        "o": RecordValue("offset", "int64"),
        "k": RecordValue("key", "string"),
        "trace": RecordValue("header", "bytes", "trace:id"),
        "n": RecordValue("header", "decimal(5, 2)", "n"),
    }
    assert step.constants == (None, "web", *[None] * 8)
    assert not step.sets_null


def test_the_list_has_to_be_one(tmp_path: Path) -> None:
    assert "a list such as" in str(mistake_of(tmp_path, "convert: {drop: [a]}"))


def spec_with(*steps: ConvertSpec) -> FeedSpec:
    return FeedSpec(name="events", topics=("t",), convert=steps)


def test_secrets_are_revealed_by_reference_and_verb() -> None:
    environ = {"SALT": "any text", "B64": base64.b64encode(KEY).decode(), "HEX": KEY.hex()}
    feed = spec_with(
        ConvertSpec("hash", ("a", "b"), ("${env:SALT}", "${env:HEX}")),
        ConvertSpec("encrypt", ("c", "d"), ("${env:B64}", "${env:HEX}")),
        ConvertSpec("rename", ("e",), ("f",)),
    )
    keys = reveal_keys([feed], environ)
    assert keys.reveal("hash", "${env:SALT}") == b"any text"
    assert keys.reveal("hash", "${env:HEX}") == KEY.hex().encode()
    assert keys.reveal("encrypt", "${env:B64}") == keys.reveal("encrypt", "${env:HEX}") == KEY
    assert "any text" not in f"{keys} {keys!r} {[keys]}"
    with pytest.raises(TypeError):
        msgspec.json.encode(keys)


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("", "is not set or empty"),
        ("geheim", "32 bytes in base64"),
        (base64.b64encode(KEY[:31]).decode(), "32 bytes in base64"),
        (KEY.hex()[:-1], "32 bytes in base64"),
    ],
)
def test_a_key_that_is_none_is_refused_without_showing_it(word: str, why: str) -> None:
    feed = spec_with(ConvertSpec("drop", ("x",)), ConvertSpec("encrypt", ("a.b",), ("${env:K}",)))
    with pytest.raises(ConfigInvalid) as caught:
        reveal_keys([feed], {"K": word})
    assert why in str(caught.value)
    assert "feeds.events.convert[1].encrypt.a.b" in str(caught.value)
    assert not word or word not in str(caught.value)
