"""What the configuration of a feed says about its directories, and settings that change meaning."""

import json
from typing import assert_never

from penstock.datapath.shape.route.directories import directory_keys
from penstock.datapath.stage.split_rows import partition_keys
from penstock.model.feed_shape import FeedShape
from penstock.model.names import encode_component
from penstock.model.plugin_call import Options
from penstock.model.spec import FeedSpec, PartitionKey, RouteSpec

KAFKA_TIME = "Kafka's timestamp"


def shape_of(feed: FeedSpec) -> FeedShape:
    """The directory keys of each dataset, and the settings that are told when they change."""
    own = {
        encode_component(each.route): directory_keys(partition_keys(feed, each))
        for each in feed.datasets
        if each.partition is not None
    }
    return FeedShape(directory_keys(feed.partition), own, _settings(feed))


def _settings(feed: FeedSpec) -> dict[str, str]:
    found = {
        "route": _route_text(feed.route),
        "time.field": feed.time.field or KAFKA_TIME,
        "time.zone": feed.time.zone,
        "partition": _partition_text(feed.partition),
    }
    own = {
        f"datasets.{each.route}.partition": _partition_text(each.partition)
        for each in feed.datasets
        if each.partition is not None
    }
    return found | own


def _route_text(route: RouteSpec) -> str:
    """The route as in the configuration."""
    match route.kind:
        case "topic" | "schema":
            return route.kind
        case "header" | "field":
            return f"{route.kind}:{route.name}"
        case "plugin":
            return f"plugin:{route.name}{_options_text(route.options)}"
        case _ as never:
            assert_never(never)


def _partition_text(keys: tuple[PartitionKey, ...]) -> str:
    return ", ".join(_level_text(key) for key in keys)


def _level_text(key: PartitionKey) -> str:
    match key.kind:
        case "day" | "hour" | "minute":
            return key.kind
        case "field":
            return f"field:{key.path}"
        case "plugin":
            return f"plugin:{key.plugin}{_options_text(key.options)} as {key.path}"
        case _ as never:
            assert_never(never)


def _options_text(options: Options) -> str:
    """Options of a plug-in; these are never secret."""
    return f" {json.dumps(dict(sorted(options)), default=str)}" if options else ""
