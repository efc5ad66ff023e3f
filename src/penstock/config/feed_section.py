"""One feed: every key below `feeds.NAME`, and the rules between keys."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.config import units
from penstock.config.clients import feed_kafka, source_options
from penstock.config.compact_section import COMPACT, compacts_its_files
from penstock.config.convert_section import converters
from penstock.config.decode_section import DECODE, check_decode, names_records
from penstock.config.feed_values import (
    SchemaFile,
    field_path,
    schema,
    start,
    topic,
)
from penstock.config.file_formats import file_format, fits_its_files, usual_compression
from penstock.config.mistakes import Refused, closest, shown
from penstock.config.record_files import (
    SECTIONS,
    SEQUENCEFILE,
    TEXT,
    format_as_chosen,
    has_sections_of_its_format,
)
from penstock.config.route_section import ROUTE, forks, has_options_for_a_plugin, partition
from penstock.config.run_section import pool_name
from penstock.config.section_grammar import (
    Key,
    Named,
    Reading,
    Section,
    SectionOrNull,
    as_table,
    choice,
    listed,
    or_null,
    parsed,
    text,
)
from penstock.config.tree import Node, Scalar, Table
from penstock.config.types_section import pinned_types, types_are_learned
from penstock.model.fork import MOST_FORKS
from penstock.model.spec import (
    DatasetSpec,
    FeedSpec,
    FilesSpec,
    FinalizeSpec,
    PublishSpec,
    QuarantineSpec,
    SourceSpec,
    TimeSpec,
    TopicSpec,
    WindowSpec,
)

MOST_PRIORITY = 100
LEAST_RETAINED = "a duration of a day or more, such as 90d"
_TIME_POLICY = f"quarantine | kafka | {units.DAY}"
_FEED_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}", re.ASCII)


def _make_dataset(route: str, schema: SchemaFile | None = None, **values: object) -> DatasetSpec:
    spec = DatasetSpec(route, **values)  # type: ignore[arg-type]
    if schema is None:
        return spec
    return msgspec.structs.replace(spec, schema_kind=schema.kind, schema_text=schema.text)


_Given = dict[str, Any]  # Any: the fields of a window that a file names, of several types


def _make_feed(per_topic: tuple[tuple[str, _Given], ...] = (), **values: object) -> FeedSpec:
    """A feed; topics with a window of their own inherit what they do not say, but for the rate."""
    if values.get("pool") is None:
        values.pop("pool", None)
    values |= _chosen_format(values)
    spec = FeedSpec(**values)  # type: ignore[arg-type]
    inherited = msgspec.structs.replace(spec.window, max_rate=None)
    own = tuple(
        TopicSpec(name, msgspec.structs.replace(inherited, **given.get("window", {})))
        for name, given in per_topic
    )
    return msgspec.structs.replace(spec, per_topic=own)


def _chosen_format(values: _Given) -> dict[str, str]:
    """The format and its usual compression, as far as a file says more of it than its name."""
    sections = {name: values.pop(name, "") for name in SECTIONS}
    if "format" not in values:
        return {}
    chosen = {"format": format_as_chosen(values["format"], sections)}
    compression = usual_compression(chosen["format"])
    return chosen if compression is None else {"compression": compression} | values | chosen


def _topic(name: str, node: Node, reading: Reading) -> tuple[str, _Given]:
    return name, PER_TOPIC(node, reading)


def _time_policy(word: str) -> str | None:
    return word if word in {"quarantine", "kafka"} else units.day(word)


def _dataset(name: str, node: Node, reading: Reading) -> DatasetSpec:
    try:
        text(Scalar(name, node.place))  # the name of a dataset is checked like any text
    except Refused as refused:
        reading.mistakes.refuse(node.place, refused)  # and the keys below it are read all the same
    return DATASET(node, reading, route=name)


def feed(name: str, node: Node, reading: Reading) -> FeedSpec:
    """Read one feed, and check what its keys mean together."""
    if not _FEED_NAME.fullmatch(name):
        allowed = (
            "lower-case letters, digits, '_' and '-', at most 100 characters, not '_' or '-' first"
        )
        reading.mistakes.add(node.place, f"found the feed name {shown(name)}", allowed)
    spec = FEED(node, reading, name=name)
    table = as_table(node)
    for check in (
        _one_choice_of_topics,
        _has_options_of_its_source,
        _reads_its_own_cluster,
        _has_topics_with_windows,
        _starts_in_its_topics,
        _fits_its_format,
        _has_few_forks,
        fits_its_files,
        has_sections_of_its_format,
        _retains_days,
        _finalizes_something,
        compacts_its_files,
        has_options_for_a_plugin,
        types_are_learned,
    ):
        check(spec, table, reading)
    return spec


def _one_choice_of_topics(_: FeedSpec, table: Table, reading: Reading) -> None:
    given = table.entries
    if "topics" in given and "pattern" in given:
        found = "both `topics` and `pattern`"
        reading.mistakes.add(given["pattern"].place, found, "one of the two")
    elif "topics" not in given and "pattern" not in given:
        reading.mistakes.add(table.place, "no topics", "`topics: [...]` or `pattern: ...`")
    if "exclude" in given and "pattern" not in given:
        found = "`exclude` without `pattern`"
        reading.mistakes.add(given["exclude"].place, found, "`exclude` together with `pattern`")


def _has_options_of_its_source(spec: FeedSpec, table: Table, reading: Reading) -> None:
    source = table.entries.get("source")
    options = source.entries.get("options") if isinstance(source, Table) else None
    if options is not None and spec.source.is_kafka:
        found = "`options` for kafka"
        allowed = "`kafka:`, at the top of the file or of the feed, has them"
        reading.mistakes.add(options.place, found, allowed)


def _reads_its_own_cluster(spec: FeedSpec, table: Table, reading: Reading) -> None:
    own = table.entries.get("kafka")
    if own is not None and spec.kafka and not spec.source.is_kafka:
        found = f"`kafka` for the source {spec.source.kind!r}"
        reading.mistakes.add(own.place, found, "`source: {options: ...}`")


def _has_topics_with_windows(spec: FeedSpec, table: Table, reading: Reading) -> None:
    """A topic's own window may be tighter than the feed's: the feed's bounds the whole window."""
    given = table.entries.get("per_topic")
    entries = given.entries if isinstance(given, Table) else {}
    for each in spec.per_topic:
        place = entries[each.topic].place
        if not spec.wants(each.topic):
            reading.mistakes.add(place, "a topic that the feed does not read", "one that it reads")
        for key in ("max_records", "max_bytes", "max_rate"):
            own, most = getattr(each.window, key), getattr(spec.window, key)
            if own is not None and most is not None and own > most:
                found = f"more than the feed's own `{key}`"
                reading.mistakes.add(place.key("window").key(key), found, f"at most {most}")


def _starts_in_its_topics(spec: FeedSpec, table: Table, reading: Reading) -> None:
    given = table.entries.get("start")
    if not spec.topics or not isinstance(given, Table) or spec.start.kind != "offsets":
        return
    for name, child in given.entries.items():
        if name not in spec.topics:
            found = "a topic that the feed does not read"
            meant = "" if reading.mistakes.full else closest(name, spec.topics)
            reading.mistakes.add(child.place, found, "one of its `topics`", meant)


def _fits_its_format(spec: FeedSpec, table: Table, reading: Reading) -> None:
    """Check that keys of `decode` and `route` belong to the format."""
    decode, route = table.entries.get("decode"), table.entries.get("route")
    if isinstance(decode, Table):
        check_decode(spec.decode, decode, reading)
    if spec.route.kind == "schema" and route is not None and not names_records(spec.decode):
        found = f"a route by schema, and {spec.decode.format} records do not name a schema"
        reading.mistakes.add(route.place, found, "topic | header:NAME | field:PATH")


def _retains_days(spec: FeedSpec, table: Table, reading: Reading) -> None:
    """Retention goes by day, so every dataset needs directories of days."""
    if spec.retain_s is None:
        return
    place = table.entries["retain"].place
    partitions = {"the feed": spec.partition}
    partitions |= {
        f"dataset {d.route!r}": d.partition for d in spec.datasets if d.partition is not None
    }
    for whose, keys in partitions.items():
        if not any(key.kind == "day" for key in keys):
            found = f"`retain` where the `partition` of {whose} has no `day`"
            reading.mistakes.add(place, found, "`day` in each `partition`, or no `retain`")


def _finalizes_something(spec: FeedSpec, table: Table, reading: Reading) -> None:
    if spec.finalize is not None and not (spec.finalize.day or spec.finalize.hour):
        found = "`finalize` of neither days nor hours"
        allowed = "`day: true`, `hour: true`, or no `finalize`"
        reading.mistakes.add(table.entries["finalize"].place, found, allowed)


def _has_few_forks(spec: FeedSpec, table: Table, reading: Reading) -> None:
    if len(spec.forks) > MOST_FORKS:
        found = f"{len(spec.forks)} forks"
        reading.mistakes.add(table.entries["forks"].place, found, f"at most {MOST_FORKS}")


def _numbers(read: Callable[[str], int | None], least: int) -> Key:
    return Key(parsed(read, f"a whole number, {least} or more"))


TIME = Section(
    TimeSpec,
    {
        "field": Key(field_path),
        "unit": Key(parsed(units.time_unit, "auto | s | ms | us | ns | iso8601 | %Y-%m-%d ...")),
        "missing": Key(parsed(_time_policy, _TIME_POLICY)),
        "unreadable": Key(parsed(_time_policy, _TIME_POLICY)),
        "outside": Key(parsed(_time_policy, _TIME_POLICY)),
        "not_before": Key(parsed(units.day, units.DAY)),
        "not_after": Key(parsed(units.duration_s, units.DURATION), "not_after_s"),
        "zone": Key(parsed(units.zone, units.ZONE)),
    },
)
_WINDOW_KEYS = {
    "every": Key(parsed(units.longer_than_nothing_s, units.DURATION), "every_s"),
    "max_records": _numbers(units.whole(1), 1),
    "max_bytes": Key(parsed(units.size_bytes, units.SIZE)),
    "max_rate": Key(or_null(parsed(units.whole(1), "a whole number, 1 or more"))),
}
WINDOW = Section(WindowSpec, _WINDOW_KEYS)
PER_TOPIC: Section[_Given] = Section(dict, {"window": Key(Section(dict, _WINDOW_KEYS))})
QUARANTINE = Section(
    QuarantineSpec,
    {
        "max_ratio": Key(parsed(units.ratio, "a number from 0 to 1")),
        "min_records": _numbers(units.whole(), 0),
    },
)
FILES = Section(
    FilesSpec,
    {
        "target": Key(parsed(units.size_bytes, units.SIZE), "target_bytes"),
        "gather": Key(choice("auto", "partition")),
    },
)
PUBLISH = Section(
    PublishSpec,
    {
        "tries": _numbers(units.whole(1), 1),
        "retry_after": Key(parsed(units.longer_than_nothing_s, units.DURATION), "retry_after_s"),
        "retry_most": Key(parsed(units.longer_than_nothing_s, units.DURATION), "retry_most_s"),
    },
)
DATASET = Section(
    _make_dataset,
    {
        "schema": Key(schema),
        "team": Key(text),
        "partition": Key(partition),
        "quarantine": Key(QUARANTINE),
        "incompatible": Key(choice("quarantine", "stop")),
        "types": Key(pinned_types),
    },
    former={"owner": "team"},
)
FINALIZE = Section(
    FinalizeSpec,
    {
        "day": Key(parsed(units.truth, "true | false")),
        "hour": Key(parsed(units.truth, "true | false")),
        "delay": Key(parsed(units.duration_s, units.DURATION), "delay_s"),
    },
)
SOURCE = Section(
    SourceSpec,
    {"plugin": Key(text, "kind", required=True), "options": Key(source_options)},
)
FEED = Section(
    _make_feed,
    {
        "topics": Key(listed(topic, at_least=1)),
        "pattern": Key(parsed(units.pattern, "a regular expression")),
        "exclude": Key(listed(topic)),
        "source": Key(SOURCE),
        "kafka": Key(feed_kafka),
        "start": Key(start),
        "decode": Key(DECODE),
        "route": Key(ROUTE),
        "datasets": Key(Named(_dataset, DATASET)),
        "unknown": Key(choice("create", "quarantine", "filter")),
        "max_new_types": _numbers(units.whole(1, most=10**6), 1),
        "forks": Key(forks),
        "time": Key(TIME),
        "partition": Key(partition),
        "include": Key(listed(choice("key", "headers", "window", "timestamp_type"))),
        "tombstones": Key(choice("filter", "quarantine", "keep")),
        "convert": Key(converters),
        "format": Key(file_format),
        "compression": Key(text),
        "text": Key(TEXT),
        "sequencefile": Key(SEQUENCEFILE),
        "window": Key(WINDOW),
        "per_topic": Key(Named(_topic, PER_TOPIC)),
        "quarantine": Key(QUARANTINE),
        "files": Key(FILES),
        "publish": Key(PUBLISH),
        "compact": Key(COMPACT),
        "on_gap": Key(choice("stop", "accept")),
        "export_offsets": Key(choice("group", "none")),
        "seal": Key(or_null(parsed(units.longer_than_nothing_s, units.DURATION)), "seal_s"),
        "finalize": Key(SectionOrNull(FINALIZE)),
        "retain": Key(or_null(parsed(units.at_least_a_day_s, LEAST_RETAINED)), "retain_s"),
        "generation": _numbers(units.whole(most=10**9), 0),
        "priority": Key(parsed(units.whole(most=MOST_PRIORITY), f"0 to {MOST_PRIORITY}")),
        "pool": Key(or_null(pool_name)),
        "timeout": Key(parsed(units.longer_than_nothing_s, units.DURATION), "timeout_s"),
        "backup": Key(or_null(text)),
    },
)
