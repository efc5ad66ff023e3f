"""What the configuration of a feed says about its directories, and settings that change meaning."""

import json

from penstock.datapath.shape.route.directories import directory_keys
from penstock.datapath.stage.split_rows import partition_keys
from penstock.model.feed_shape import FeedShape
from penstock.model.names import encode_component
from penstock.model.row_config import RowConfig
from penstock.model.row_settings import Setting, Settings, row_settings
from penstock.model.spec import FeedSpec

KAFKA_TIME = "Kafka's timestamp"


def shape_of(feed: FeedSpec) -> FeedShape:
    """The directory keys of each dataset, the settings that are told, and all that shapes rows."""
    own = {
        encode_component(each.route): directory_keys(partition_keys(feed, each))
        for each in feed.datasets
        if each.partition is not None
    }
    told = _told(row_settings(feed))
    return FeedShape(directory_keys(feed.partition), own, told, RowConfig.of(feed))


def _told(settings: Settings) -> dict[str, str]:
    """The settings that are told when they change. Entries hold these texts, so they stay."""
    time, route = _table(settings["time"]), _table(settings["route"])
    found = {
        "route": f"{route['by']}{_options_text(route)}",
        "time.field": str(time.get("field", KAFKA_TIME)),
        "time.zone": str(time["zone"]),
        "partition": _partition_text(settings["partition"]),
    }
    own = {
        f"datasets.{name}.partition": _partition_text(declared["partition"])
        for name, each in _table(settings["datasets"]).items()
        if "partition" in (declared := _table(each))
    }
    return found | own


def _table(value: Setting) -> Settings:
    return value if isinstance(value, dict) else {}


def _partition_text(levels: Setting) -> str:
    return ", ".join(map(_level_text, levels if isinstance(levels, list) else []))


def _level_text(level: Setting) -> str:
    """A directory level as in the configuration, in one line."""
    if isinstance(level, dict):
        return f"plugin:{level['plugin']}{_options_text(level)} as {level['as']}"
    return str(level)


def _options_text(beside: Settings) -> str:
    """Options of a plug-in; these are never secret."""
    options = _table(beside.get("options"))
    return f" {json.dumps(dict(sorted(options.items())), default=str)}" if options else ""
