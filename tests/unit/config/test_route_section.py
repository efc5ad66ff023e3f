"""Routes, partition values and forks that are plug-ins, in a configuration."""

from pathlib import Path

import pytest

from penstock.config.errors import ConfigInvalid
from penstock.config.load import load
from penstock.model.fork import ForkSpec
from penstock.model.plugin_call import PluginCall
from penstock.model.spec import FeedSpec, PartitionKey, RouteSpec

HEAD = "version: 1\nlake: ./lake\nkafka: {bootstrap.servers: 'localhost:9092'}\n"


def feed_with(folder: Path, keys: str) -> FeedSpec:
    (folder / "penstock.yaml").write_text(f"{HEAD}feeds: {{a: {{topics: [a], {keys}}}}}\n")
    return load(folder / "penstock.yaml", {}).feeds[0]


def test_a_route_may_be_a_plug_in_with_options(tmp_path: Path) -> None:
    route = "route: {by: 'plugin:geo', options: {digits: 2, exact: true, of: '7'}}"
    wanted = (("digits", 2), ("exact", True), ("of", "7"))
    spec = feed_with(tmp_path, route).route
    assert spec == RouteSpec("plugin", "geo", wanted)
    assert spec.call == PluginCall("geo", wanted)


def test_what_is_built_in_is_a_call_through_the_same_door(tmp_path: Path) -> None:
    by = {
        "topic": PluginCall("topic"),
        "schema": PluginCall("schema"),
        "header:type": PluginCall("header", (("name", "type"),)),
        "field:a.b": PluginCall("field", (("path", "a.b"),)),
    }
    for word, call in by.items():
        avro = "decode: {format: avro}"
        assert feed_with(tmp_path, f"{avro}, route: {{by: '{word}'}}").route.call == call
    keys = feed_with(tmp_path, "partition: [day, 'field:a.b', hour]").partition
    assert [key.call for key in keys] == [
        PluginCall("day"),
        PluginCall("field", (("path", "a.b"),)),
        PluginCall("hour"),
    ]


def test_a_level_of_directories_may_be_a_plug_in(tmp_path: Path) -> None:
    spec = feed_with(
        tmp_path,
        "partition: [day, 'plugin:shard', {plugin: bucket, options: {of: id}, as: b}, "
        "{plugin: bucket}]",
    )
    assert spec.partition == (
        PartitionKey("day"),
        PartitionKey("plugin", "shard", "shard"),
        PartitionKey("plugin", "b", "bucket", (("of", "id"),)),
        PartitionKey("plugin", "bucket", "bucket"),
    )
    assert spec.partition[2].call == PluginCall("bucket", (("of", "id"),))


def test_a_fork_function_has_a_place_for_each_of_its_datasets(tmp_path: Path) -> None:
    spec = feed_with(
        tmp_path,
        "forks: [{to: x, when: {n: 1}}, {to: [gold, silver], plugin: tiers, options: {least: 5}, "
        "from: [order]}, {to: y, plugin: tiers}]",
    )
    call = PluginCall("tiers", (("least", 5),))
    assert [fork.to for fork in spec.forks] == ["x", "gold", "silver", "y"]
    assert spec.forks[1:3] == (
        ForkSpec("gold", (), ("order",), call),
        ForkSpec("silver", (), ("order",), call),
    )
    assert spec.forks[3].call == PluginCall("tiers")


@pytest.mark.parametrize(
    ("keys", "path", "found"),
    [
        ("route: {by: topic, options: {a: 1}}", "route.options", "without a plug-in"),
        ("route: {by: 'plugin:'}", "route.by", "plugin:NAME"),
        ("route: {by: 'plugin:x', options: {a: [1]}}", "route.options.a", "a text, a number"),
        ("route: {by: 'plugin:x', options: {a: '${env:B}'}}", "route.options.a", "a secret"),
        ("partition: ['plugin:']", "partition[0]", "plugin:NAME"),
        ("partition: [{options: {}}]", "partition[0].plugin", "missing"),
        ("partition: [{plugin: x, as: a.b}]", "partition[0].as", "without a dot"),
        ("partition: ['field:x', 'plugin:X']", "partition", "two levels are called by_X"),
        ("partition: [{plugin: x, options: {a: 1}}, 'plugin:x']", "partition", "called by_x"),
        ("partition: [hour, 'plugin:x']", "partition", "the order hour"),
        ("forks: [{to: [a], when: {n: 1}}]", "forks[0].to", "one dataset"),
        ("forks: [{to: a, when: {n: 1}, plugin: x}]", "forks[0].when", "both"),
        ("forks: [{to: a, when: {n: 1}, options: {}}]", "forks[0].options", "without a plug-in"),
        ("forks: [{to: [a, a], plugin: x}]", "forks[0].to[1]", "twice"),
        ("forks: [{to: a, plugin: x}, {to: a, plugin: x}]", "forks[1]", "twice"),
    ],
)
def test_what_does_not_fit_together_is_a_mistake_at_its_place(
    tmp_path: Path, keys: str, path: str, found: str
) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        feed_with(tmp_path, keys)
    (mistake,) = caught.value.mistakes
    assert mistake.path == f"feeds.a.{path}"
    assert found in str(mistake)
