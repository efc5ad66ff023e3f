"""What shapes rows is in the digest, and nothing else; what has changed is named by its key.

Method: every field of the classes of a feed's configuration is changed once. They are found by
reflection, so that a field which is added later has to be put on one side.
"""

import json
from typing import Any

import msgspec
import pytest

from penstock.config.load import load
from penstock.model.convert_spec import Condition, ConvertSpec, RecordValue
from penstock.model.fork import ForkSpec
from penstock.model.plugin import PluginRef
from penstock.model.plugin_call import PluginCall
from penstock.model.row_config import RowConfig, SettingChange, changes, settings_in
from penstock.model.row_settings import row_settings
from penstock.model.spec import (
    CompactSpec,
    DatasetSpec,
    DecodeSpec,
    FeedSpec,
    FilesSpec,
    FinalizeSpec,
    PartitionKey,
    PublishSpec,
    QuarantineSpec,
    RouteSpec,
    SourceSpec,
    StartSpec,
    TimeSpec,
    TopicSpec,
    WindowSpec,
)

FEED = FeedSpec(name="events", topics=("events",))
REF = PluginRef("codec", "csv", "package:Csv")
A_STEP = ConvertSpec("hash", ("email",), ("${env:SALT}",))

# Another value for each field; a class stands for its own fields.
SHAPING: dict[type[msgspec.Struct], dict[str, Any]] = {
    DecodeSpec: {
        "format": "text",
        "schema_text": "{}",
        "schema_includes": (("a.thrift", "struct A {}"),),
        "protocol": "compact",
        "message": "Event",
        "ids": True,
        "spread": True,
        "pattern": "(?P<a>.*)",
        "delimiter": ",",
        "columns": ("a",),
        "types": (("a", "string"),),
    },
    RouteSpec: {"kind": "header", "name": "by_hash", "options": (("n", 2),)},
    TimeSpec: {
        "field": "at",
        "unit": "ms",
        "missing": "kafka",
        "not_before": "2016-01-01",
        "not_after_s": 60.0,
        "zone": "Europe/Berlin",
        "unreadable": "kafka",
        "outside": "kafka",
    },
    DatasetSpec: {
        "route": "view",
        "schema_kind": "avsc",
        "schema_text": "{}",
        "team": "web",
        "partition": (PartitionKey("hour"),),
        "types": (("a", "string"),),
    },
    PartitionKey: {"kind": "field", "path": "b", "plugin": "mod", "options": (("n", 2),)},
    ForkSpec: {
        "to": "other",
        "when": (Condition("a", null=True),),
        "datasets": ("view",),
        "call": PluginCall("big"),
    },
    ConvertSpec: {
        "verb": "encrypt",
        "paths": ("name",),
        "words": ("${env:OTHER}",),
        "datasets": ("view",),
    },
    FeedSpec: {
        "decode": DecodeSpec("text"),
        "route": RouteSpec("field", "type"),
        "datasets": (DatasetSpec("view", team="web"),),
        "unknown": "filter",
        "max_new_types": 7,
        "forks": (ForkSpec("view", (Condition("a", null=True),)),),
        "time": TimeSpec("at"),
        "partition": (PartitionKey("day"), PartitionKey("hour")),
        "include": ("key",),
        "tombstones": "keep",
        "convert": (A_STEP,),
        "format": "orc",
        "compression": "snappy",
    },
}
NOT_SHAPING: dict[type[msgspec.Struct], dict[str, Any]] = {
    DecodeSpec: {"incompatible": "stop", "codec": REF},
    RouteSpec: {"ref": REF},
    TimeSpec: {},
    DatasetSpec: {"quarantine": QuarantineSpec(0.5), "incompatible": "stop"},
    PartitionKey: {"ref": REF},
    ForkSpec: {},
    ConvertSpec: {"ref": REF},
    FeedSpec: {
        "name": "other",
        "topics": ("others",),
        "pattern": ".*",
        "exclude": ("x",),
        "source": SourceSpec("list"),
        "kafka": {"client.id": "other"},
        "start": StartSpec("latest"),
        "files": FilesSpec(1, "partition"),
        "window": WindowSpec(5.0),
        "per_topic": (TopicSpec("events", WindowSpec(5.0)),),
        "quarantine": QuarantineSpec(0.5),
        "on_gap": "accept",
        "export_offsets": "none",
        "generation": 3,
        "seal_s": 60.0,
        "retain_s": 86_400.0,
        "finalize": FinalizeSpec(),
        "publish": PublishSpec(tries=9),
        "compact": CompactSpec(min_files=9),
        "priority": 9,
        "pool": "bulk",
        "timeout_s": 60.0,
        "backup": "raw",
    },
}
# Fields that only some verbs have; those are tried below.
OF_OTHER_VERBS = {"constants", "conditions", "from_record"}


def with_value(value: msgspec.Struct) -> FeedSpec:
    """A feed that has this value where it belongs."""
    match value:
        case FeedSpec():
            return value
        case DecodeSpec():
            return msgspec.structs.replace(FEED, decode=value)
        case RouteSpec():
            return msgspec.structs.replace(FEED, route=value)
        case TimeSpec():
            return msgspec.structs.replace(FEED, time=value)
        case DatasetSpec():
            return msgspec.structs.replace(FEED, datasets=(value,))
        case PartitionKey():
            return msgspec.structs.replace(FEED, partition=(value,))
        case ForkSpec():
            return msgspec.structs.replace(FEED, forks=(value,))
        case ConvertSpec():
            return msgspec.structs.replace(FEED, convert=(value,))
        case _:
            raise AssertionError(value)


BASES: dict[type[msgspec.Struct], msgspec.Struct] = {
    DecodeSpec: DecodeSpec(),
    RouteSpec: RouteSpec("plugin", "by_name", (("n", 1),)),
    TimeSpec: TimeSpec(),
    DatasetSpec: DatasetSpec("click"),
    PartitionKey: PartitionKey("plugin", "a", "bucket", (("n", 1),)),
    ForkSpec: ForkSpec("copy", (Condition("a", null=False),)),
    ConvertSpec: A_STEP,
    FeedSpec: FEED,
}


def cases(table: dict[type[msgspec.Struct], dict[str, Any]]) -> list[Any]:
    return [
        pytest.param(kind, name, value, id=f"{kind.__name__}.{name}")
        for kind, fields in table.items()
        for name, value in fields.items()
    ]


def digest(kind: type[msgspec.Struct], /, **changed: Any) -> str:
    return RowConfig.of(with_value(msgspec.structs.replace(BASES[kind], **changed))).digest


def test_every_field_of_the_configuration_is_on_one_side() -> None:
    for kind in BASES:
        named = SHAPING[kind].keys() | NOT_SHAPING[kind].keys()
        every = set(kind.__struct_fields__) - (OF_OTHER_VERBS if kind is ConvertSpec else set())
        assert named == every, kind


@pytest.mark.parametrize(("kind", "name", "value"), cases(SHAPING))
def test_what_shapes_rows_changes_the_digest(kind: Any, name: str, value: Any) -> None:
    assert digest(kind, **{name: value}) != digest(kind)


@pytest.mark.parametrize(("kind", "name", "value"), cases(NOT_SHAPING))
def test_what_shapes_no_row_leaves_the_digest(kind: Any, name: str, value: Any) -> None:
    assert digest(kind, **{name: value}) == digest(kind)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ConvertSpec("set", ("a",), constants=(1,)), ConvertSpec("set", ("a",), constants=(True,))),
        (ConvertSpec("set", ("a",), constants=("1",)), ConvertSpec("set", ("a",), constants=(1,))),
        (ConvertSpec("set", ("a",), constants=(None,)), ConvertSpec("set", ("b",), constants=(1,))),
        (
            ConvertSpec("set", ("a",), constants=(None,)),
            ConvertSpec(
                "set", ("a",), constants=(None,), from_record=(RecordValue("topic", "string"),)
            ),
        ),
        (
            ConvertSpec("filter", conditions=(Condition("a", least=0),)),
            ConvertSpec("filter", conditions=(Condition("a", most=0),)),
        ),
        (
            ConvertSpec("filter", conditions=(Condition("a", null=False),)),
            ConvertSpec("filter", conditions=(Condition("a", null=True),)),
        ),
        (ConvertSpec("mask", ("a",), ("",)), ConvertSpec("mask", ("a",), ("4",))),
        (
            ConvertSpec("plugin", ("n",), ("scale",), (1,)),
            ConvertSpec("plugin", ("n",), ("scale",), (2,)),
        ),
    ],
)
def test_two_steps_that_differ_are_told_apart(first: ConvertSpec, second: ConvertSpec) -> None:
    before, now = row_settings(with_value(first)), row_settings(with_value(second))
    assert RowConfig.of(with_value(first)).digest != RowConfig.of(with_value(second)).digest
    found = changes(before, now)
    assert found
    for each in found:
        assert each.key.startswith("convert[0]")
        assert each.before != each.now


def test_the_digest_does_not_depend_on_the_order_of_keys_and_is_known() -> None:
    one = msgspec.structs.replace(FEED, datasets=(DatasetSpec("a", team="x"), DatasetSpec("b")))
    two = msgspec.structs.replace(FEED, datasets=(DatasetSpec("b"), DatasetSpec("a", team="x")))
    assert RowConfig.of(one) == RowConfig.of(two)
    assert RowConfig.of(FEED).digest == "3aa93db048238b2c", "it is stable"


def test_no_secret_is_in_the_text() -> None:
    text = RowConfig.of(with_value(A_STEP)).text.decode()
    assert "${env:SALT}" in text


def test_changes_are_named_by_their_keys_with_both_values() -> None:
    now = msgspec.structs.replace(
        FEED, time=TimeSpec(field="at", zone="Europe/Berlin"), convert=(A_STEP,)
    )
    assert changes(row_settings(FEED), row_settings(now)) == (
        SettingChange("convert", "[]", '[{"hash": {"email": "${env:SALT}"}}]'),
        SettingChange("time.field", None, "at"),
        SettingChange("time.zone", "UTC", "Europe/Berlin"),
    )
    assert str(SettingChange("time.field", None, "at")) == "`time.field` was not set and is at"


def test_a_key_that_a_later_version_has_added_is_no_change_while_it_has_its_default() -> None:
    before = row_settings(FEED)
    del before["tombstones"]
    assert isinstance(before["time"], dict)
    del before["time"]["unreadable"]
    assert changes(before, row_settings(FEED)) == ()
    strict = msgspec.structs.replace(FEED, tombstones="quarantine")
    assert changes(before, row_settings(strict)) == (
        SettingChange("tombstones", "filter", "quarantine"),
    )


def test_long_values_are_cut_in_sentences_only() -> None:
    change = SettingChange("decode.schema_text", "x" * 1000, None)
    assert len(str(change)) < 250
    assert change.before == "x" * 1000


FILE = """
version: 1
lake: ./lake
kafka: {bootstrap.servers: "localhost:9092"}
feeds:
  events:
    topics: [events]
    decode: {format: json, spread: true, types: {"customer.id": string, n: int64}}
    route: {by: "field:type"}
    datasets:
      view: {schema: view.avsc, team: web, partition: [day, hour]}
      click: {types: {a: string}}
    unknown: quarantine
    forks:
      - {to: big, when: {n: {least: 10, most: 20.5}, country: [DE, "1", null]}, from: [view]}
      - {to: all, when: {a: {null: false}}}
    time: {field: at, unit: ms, missing: kafka, not_after: 36h, zone: Europe/Berlin}
    partition: [day, "field:country"]
    include: [key, window]
    tombstones: keep
    convert:
      - {rename: {a: b}}
      - {mask: [email]}
      - {mask: {phone: 4}, datasets: [view]}
      - {set: {source: web, n: 1, none: null, day: {from: time, as: date}, h: {from: "header:x"}}}
      - {filter: {n: {multiple_of: 3}, s: {fits: "a.*"}}}
      - {hash: {id: "${env:SALT}"}}
      - {drop: [x, y]}
      - {cast: {c: "decimal(10,2)"}}
"""


def test_settings_are_written_as_the_file_has_them(tmp_path: Any) -> None:
    """Goal: who reads the settings can put them back. Method: load, print as JSON, load again."""
    schema = '{"type": "record", "name": "view", "fields": []}'
    (tmp_path / "view.avsc").write_text(schema)
    (tmp_path / "penstock.yaml").write_text(FILE)
    (feed,) = load(tmp_path / "penstock.yaml", {}).feeds
    settings: Any = settings_in(RowConfig.of(feed).text)
    view = settings["datasets"]["view"]
    assert view.pop("schema_text") == schema
    assert view.pop("schema_kind") == "avsc"
    view["schema"] = "view.avsc"
    whole = {
        "version": 1,
        "lake": "./lake",
        "kafka": {"bootstrap.servers": "localhost:9092"},
        "feeds": {"events": {"topics": ["events"], **settings}},
    }
    (tmp_path / "again.yaml").write_text(json.dumps(whole))
    (again,) = load(tmp_path / "again.yaml", {}).feeds
    assert RowConfig.of(again) == RowConfig.of(feed)
