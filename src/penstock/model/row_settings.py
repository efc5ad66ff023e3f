"""The settings of a feed that shape its rows, in the words of `penstock.yaml`. Pure.

Whatever else a feed says leaves its rows as they are: which topics it reads and from where, when a
window ends, how many records may be broken. Secrets stay the references that the file has.
"""

import json
from collections.abc import Mapping
from typing import TypeAlias, assert_never

from penstock.model.convert_spec import Condition, ConvertSpec, RecordValue
from penstock.model.fork import ForkSpec
from penstock.model.plugin_call import Options
from penstock.model.spec import (
    DatasetSpec,
    DecodeSpec,
    FeedSpec,
    PartitionKey,
    RouteSpec,
    TimeSpec,
)

Setting: TypeAlias = "bool | int | float | str | list[Setting] | dict[str, Setting] | None"
Settings: TypeAlias = dict[str, Setting]

_UNITS_S = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def row_settings(feed: FeedSpec) -> Settings:
    """All of them, with the values that are in force; what has no value is left out."""
    return {
        "decode": _decode(feed.decode),
        "route": _route(feed.route),
        "datasets": {each.route: _dataset(each) for each in feed.datasets},
        "unknown": feed.unknown,
        "max_new_types": feed.max_new_types,
        "forks": [_fork(each) for each in feed.forks],
        "time": _time(feed.time),
        "partition": _partition(feed.partition),
        "include": list(feed.include),
        "tombstones": feed.tombstones,
        "convert": [_step(each) for each in feed.convert],
        "format": feed.format,
        "compression": feed.compression,
    }


def _given(settings: Mapping[str, Setting]) -> Settings:
    """What has a value."""
    return {name: value for name, value in settings.items() if value not in ("", [], {}, None)}


def _decode(decode: DecodeSpec) -> Settings:
    chosen: Settings = {"format": decode.format, "ids": decode.ids, "spread": decode.spread}
    return chosen | _given(
        {
            "schema_text": decode.schema_text,
            "schema_includes": dict(decode.schema_includes),
            "message": decode.message,
            "protocol": decode.protocol,
            "pattern": decode.pattern,
            "delimiter": decode.delimiter,
            "columns": list(decode.columns),
            "types": dict(decode.types),
        }
    )


def _route(route: RouteSpec) -> Settings:
    return {"by": _route_word(route)} | _given({"options": _options(route.options)})


def _route_word(route: RouteSpec) -> str:
    match route.kind:
        case "topic" | "schema":
            return route.kind
        case "header" | "field" | "plugin":
            return f"{route.kind}:{route.name}"
        case _ as never:
            assert_never(never)


def _dataset(declared: DatasetSpec) -> Settings:
    levels = None if declared.partition is None else _partition(declared.partition)
    return _given(
        {
            "schema_kind": declared.schema_kind,
            "schema_text": declared.schema_text,
            "team": declared.team,
            "partition": levels,
            "types": dict(declared.types),
        }
    )


def _time(time: TimeSpec) -> Settings:
    outside = "" if time.outside == "quarantine" else time.outside  # digests of before had no word
    return _given({"field": time.field, "outside": outside}) | {
        "unit": time.unit,
        "missing": time.missing,
        "unreadable": time.unreadable,
        "not_before": time.not_before,
        "not_after": _duration(time.not_after_s),
        "zone": time.zone,
    }


def _duration(seconds: float) -> str:
    """A duration in the largest unit in which it is a whole number."""
    for unit, size in _UNITS_S:
        if seconds and seconds % size == 0:
            return f"{int(seconds // size)}{unit}"
    return f"{seconds * 1000:.0f}ms"


def _partition(keys: tuple[PartitionKey, ...]) -> list[Setting]:
    return [_level(key) for key in keys]


def _level(key: PartitionKey) -> Setting:
    match key.kind:
        case "day" | "hour" | "minute":
            return key.kind
        case "field":
            return f"field:{key.path}"
        case "plugin":
            named: Settings = {"plugin": key.plugin, "as": key.path}
            return named | _given({"options": _options(key.options)})
        case _ as never:
            assert_never(never)


def _options(options: Options) -> Settings:
    return dict(options)


def _fork(fork: ForkSpec) -> Settings:
    call = fork.call
    chosen = _given({"from": list(fork.datasets)})
    if call is None:
        return chosen | {"to": fork.to, "when": _conditions(fork.when)}
    named: Settings = {"to": [fork.to], "plugin": call.name}
    return chosen | named | _given({"options": _options(call.options)})


def _conditions(conditions: tuple[Condition, ...]) -> Settings:
    return {each.path: _condition(each) for each in conditions}


def _condition(condition: Condition) -> Settings:
    """Its tests; one that is not asked is left out, and 0 and false are tests."""
    tests: Settings = {
        "is": list(condition.one_of) or None,
        "fits": condition.fits or None,
        "null": condition.null,
        "least": condition.least,
        "most": condition.most,
        "multiple_of": condition.multiple_of,
    }
    return {name: value for name, value in tests.items() if value is not None}


def _step(step: ConvertSpec) -> Settings:
    return _verb(step) | _given({"datasets": list(step.datasets)})


def _verb(step: ConvertSpec) -> Settings:
    match step.verb:
        case "rename" | "cast" | "hash" | "encrypt":
            return {step.verb: _by_path(step)}
        case "mask":
            return {"mask": _by_path(step) if any(step.words) else list(step.paths)}
        case "drop" | "keep" | "flatten":
            return {step.verb: list(step.paths)}
        case "set":
            return {
                "set": {
                    path: constant if taken is None else _taken(taken)
                    for path, constant, taken in step.settings
                }
            }
        case "filter":
            return {"filter": _conditions(step.conditions)}
        case "plugin":
            options: Settings = dict(zip(step.paths, step.constants, strict=True))
            return {"plugin": step.words[0]} | _given({"options": options})
        case _ as never:
            assert_never(never)


def _by_path(step: ConvertSpec) -> Settings:
    return dict(zip(step.paths, step.words, strict=True))


def _taken(value: RecordValue) -> Settings:
    source = f"{value.source}:{value.name}" if value.source == "header" else value.source
    return {"from": source, "as": value.kind}


def setting_text(value: Setting) -> str:
    """A setting on one line, as JSON; a text as it is."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
