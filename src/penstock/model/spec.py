"""The checked configuration as frozen values.

`config/` creates them from a file; every other room reads them. They are sent to executors inside a
closure, so they stay small and plain.
"""

import re
from collections.abc import Mapping
from typing import Literal, assert_never

from penstock.model.convert_spec import ConvertSpec
from penstock.model.fork import ForkSpec
from penstock.model.plugin import PluginRef
from penstock.model.plugin_call import Options, PluginCall
from penstock.model.schema import PinnedTypes
from penstock.model.store_spec import StoreSpec
from penstock.model.value import Value

RouteKind = Literal["topic", "header", "field", "schema", "plugin"]
PartitionKind = Literal["day", "hour", "minute", "field", "plugin"]
SchemaKind = Literal["avsc", "jsonschema"]
TIME_PIECES = ("day", "hour", "minute")
KAFKA = "kafka"


class SourceSpec(Value, frozen=True):
    """Where the records of a feed come from: the name of a kind of source, and its options.

    In options secrets are still references. Kafka has no options: its settings are those of the
    file, and the feed's own. Only the driver opens a source and finds it by its name, so that no
    `ref` travels.
    """

    kind: str = KAFKA
    options: dict[str, str] = {}

    @property
    def is_kafka(self) -> bool:
        """True when records come from the cluster that `kafka` describes."""
        return self.kind == KAFKA


class DecodeSpec(Value, frozen=True):
    """How a record's value is decoded: `format` names the codec, and `codec` says where it is.

    `schema_text` is the content of the schema file with which all records were written, and
    `message` which message of it; without one every record names its schema, which a registry has.
    `schema_includes` are the files that it includes: paths from its folder, and texts. `protocol`
    is how Thrift records are written; empty: binary.
    `incompatible` says what happens to a dataset if the schema of records cannot be merged with
    its own: the records always go to the quarantine, and with `stop` the dataset stops.
    JSON with `ids` begins with the id of its schema; with `spread`, each element of an array is a
    record. Texts are cut by `pattern`, or by `delimiter` into `columns`. `types` are those of
    fields in learned schemas.
    """

    format: str = "json"
    schema_text: str = ""
    schema_includes: tuple[tuple[str, str], ...] = ()
    message: str = ""
    protocol: Literal["", "binary", "compact"] = ""
    ids: bool = False
    spread: bool = False
    pattern: str = ""
    delimiter: str = ""
    columns: tuple[str, ...] = ()
    incompatible: Literal["quarantine", "stop"] = "quarantine"
    types: PinnedTypes = ()
    codec: PluginRef | None = None  # None: the built-in one of that name


class RouteSpec(Value, frozen=True):
    """What names the dataset: the topic, a header, a field by its dotted path, or a plug-in.

    `ref` is what is behind the door of routes, once the driver has found it.
    """

    kind: RouteKind = "topic"
    name: str = ""
    options: Options = ()
    ref: PluginRef | None = None

    @property
    def call(self) -> PluginCall:
        """What is behind the door of routes, and what it is made with."""
        match self.kind:
            case "plugin":
                return PluginCall(self.name, self.options, self.ref)
            case "header":
                return PluginCall(self.kind, (("name", self.name),), self.ref)
            case "field":
                return PluginCall(self.kind, (("path", self.name),), self.ref)
            case "topic" | "schema":
                return PluginCall(self.kind, (), self.ref)
            case _ as never:
                assert_never(never)


class PartitionKey(Value, frozen=True):
    """One directory level below a dataset: a piece of the event time, a field, or a plug-in.

    `path` is that of the field; of a plug-in it is the name of the directory, without `by_`. `ref`
    is what is behind the door of partition values, once the driver has found it.
    """

    kind: PartitionKind = "day"
    path: str = ""
    plugin: str = ""
    options: Options = ()
    ref: PluginRef | None = None

    @property
    def is_time(self) -> bool:
        """True for a piece of the event time."""
        return self.kind in TIME_PIECES

    @property
    def column(self) -> str:
        """Under which name its values travel; that of a plug-in cannot be the path of a field."""
        return f"\0{self.path}" if self.kind == "plugin" else self.path

    @property
    def call(self) -> PluginCall:
        """What is behind the door of partition values, and what it is made with."""
        match self.kind:
            case "plugin":
                return PluginCall(self.plugin, self.options, self.ref)
            case "field":
                return PluginCall(self.kind, (("path", self.path),), self.ref)
            case "day" | "hour" | "minute":
                return PluginCall(self.kind, (), self.ref)
            case _ as never:
                assert_never(never)


# The directives of a time pattern that mean the same on every machine: no locale, no local zone.
TIME_DIRECTIVES = frozenset("aAbBdfGHIjmMpSuUVwWyYz%")


class TimeSpec(Value, frozen=True):
    """Where the event time comes from, and which times are accepted.

    `field` empty: Kafka's timestamp. `unit`: auto, s, ms, us, ns, iso8601, or a strptime pattern.
    `missing` is for records whose field is absent or null, `unreadable` for those whose field has a
    value that is not a time, `outside` for those whose time is not accepted: quarantine, kafka, or
    a day such as 1970-01-01 to use instead.
    """

    field: str = ""
    unit: str = "auto"
    missing: str = "quarantine"
    not_before: str = "2015-01-01"
    not_after_s: float = 2 * 86_400.0
    zone: str = "UTC"
    unreadable: str = "quarantine"
    outside: str = "quarantine"


class QuarantineSpec(Value, frozen=True):
    """How many records may be broken before the feed halts; small windows are not checked."""

    max_ratio: float = 0.05
    min_records: int = 1_000


class DatasetSpec(Value, frozen=True):
    """A declared dataset. `schema_text` is the content of its schema file, if it has one.

    `incompatible` empty: as in the feed's `decode`. `types` go before those of the feed.
    """

    route: str
    schema_kind: SchemaKind | None = None
    schema_text: str = ""
    team: str = ""
    partition: tuple[PartitionKey, ...] | None = None
    quarantine: QuarantineSpec | None = None
    incompatible: Literal["", "quarantine", "stop"] = ""
    types: PinnedTypes = ()


class StartSpec(Value, frozen=True):
    """Where a feed starts: earliest, latest, a time in milliseconds, or offsets by topic.

    With `group`, where a consumer group stopped; with `file`, the same by a file whose content is
    in `offsets`. `missing` is for partitions of which neither says anything.
    """

    kind: Literal["earliest", "latest", "time", "offsets", "group", "file"] = "earliest"
    time_ms: int = 0
    offsets: dict[str, dict[int, int]] = {}
    group: str = ""
    missing: Literal["refuse", "earliest"] = "refuse"


class WindowSpec(Value, frozen=True):
    """When a window ends: at the first of these limits.

    `max_rate` bounds the records per second while a feed catches up; None: no bound.
    """

    every_s: float = 60.0
    max_records: int = 5_000_000
    max_bytes: int = 1_000_000_000
    max_rate: int | None = None


class TopicSpec(Value, frozen=True):
    """A topic of a feed with a window policy of its own; what it does not say is the feed's."""

    topic: str
    window: WindowSpec


class PublishSpec(Value, frozen=True):
    """When a dataset that cannot be published is parked, and the pauses between the tries."""

    tries: int = 5
    retry_after_s: float = 15.0
    retry_most_s: float = 3600.0


class FilesSpec(Value, frozen=True):
    """How rows are gathered into files.

    A file that would become larger than `target_bytes` is cut. `gather`: "auto" lets Kafka
    partitions of a topic share files by volume, "partition" gives each of them its own.
    """

    target_bytes: int = 256_000_000
    gather: Literal["auto", "partition"] = "auto"


class FinalizeSpec(Value, frozen=True):
    """Which directories get a mark when they are complete, and how long late records may take."""

    day: bool = True
    hour: bool = False
    delay_s: float = 600.0


class CompactSpec(Value, frozen=True):
    """When small files become larger ones inside a run, and how large.

    `when`: "off", "hour_closed" or "day_closed" for directories whose time is over, or "every" for
    all of them each `every_s`. `keep_s` is how long inputs stay where readers go by snapshots.
    """

    when: Literal["off", "hour_closed", "day_closed", "every"] = "off"
    every_s: float = 3600.0
    target_bytes: int = 256_000_000
    min_files: int = 8
    keep_s: float = 3600.0


class FeedSpec(Value, frozen=True, kw_only=True):
    """One feed: its topics, how to decode them, where to write them.

    `kafka` are settings of its own, over those of the file; secrets are still references. `seal_s`
    is how old entries of the journal are when they are sealed; None: they never are. `retain_s` is
    how long days are kept; None: for ever. `finalize` says which days and hours get marks when they
    are complete; None: none. `backup` is the feed that keeps the same records as they
    came.
    """

    name: str
    topics: tuple[str, ...] = ()
    pattern: str = ""
    exclude: tuple[str, ...] = ()
    source: SourceSpec = SourceSpec()
    kafka: dict[str, str] = {}
    start: StartSpec = StartSpec()
    decode: DecodeSpec = DecodeSpec()
    route: RouteSpec = RouteSpec()
    datasets: tuple[DatasetSpec, ...] = ()
    unknown: Literal["create", "quarantine", "filter"] = "create"
    max_new_types: int = 1_000
    forks: tuple[ForkSpec, ...] = ()
    time: TimeSpec = TimeSpec()
    partition: tuple[PartitionKey, ...] = (PartitionKey(),)
    include: tuple[Literal["key", "headers", "window", "timestamp_type"], ...] = ()
    tombstones: Literal["filter", "quarantine", "keep"] = "filter"
    convert: tuple[ConvertSpec, ...] = ()
    format: str = "parquet"
    compression: str = "zstd"
    files: FilesSpec = FilesSpec()
    window: WindowSpec = WindowSpec()
    per_topic: tuple[TopicSpec, ...] = ()
    quarantine: QuarantineSpec = QuarantineSpec()
    publish: PublishSpec = PublishSpec()
    compact: CompactSpec = CompactSpec()
    on_gap: Literal["stop", "accept"] = "stop"
    export_offsets: Literal["group", "none"] = "group"
    seal_s: float | None = None
    retain_s: float | None = None
    finalize: FinalizeSpec | None = None
    generation: int = 0
    priority: int = 5
    pool: str = ""  # the name of a pool of `run`; empty: only `parallel` bounds it
    timeout_s: float = 3600.0
    backup: str | None = None

    @property
    def has_rows(self) -> bool:
        """True when a record may become several rows; then every row has its number."""
        return self.decode.spread or bool(self.forks)

    def wants(self, topic: str) -> bool:
        """True when the feed wants this topic."""
        if topic in self.exclude:
            return False
        if topic in self.topics:
            return True
        return bool(self.pattern) and re.fullmatch(self.pattern, topic) is not None

    def still_wanted(self, topics: Mapping[str, str]) -> dict[str, str]:
        """The topics read so far, by id, that the feed still wants; others may be gone."""
        return {name: topic_id for name, topic_id in topics.items() if self.wants(name)}


class RegistrySpec(Value, frozen=True):
    """The registry with secrets in place; never part of a configuration."""

    url: str
    user: str = ""
    password: str = ""
    token: str = ""
    ca: str = ""
    timeout_s: float = 10.0


class PriceSpec(Value, frozen=True):
    """What things cost, in one currency; None: it has no price. `call` is a plug-in for others.

    `gb_month` is for a month of storage of what was written, `gb_read` for what came from sources.
    """

    currency: str = "USD"
    task_hour: float | None = None
    gb_month: float | None = None
    gb_read: float | None = None
    thousand_puts: float | None = None
    million_records: float | None = None
    call: PluginCall | None = None

    @property
    def has_any(self) -> bool:
        """True when anything has a price."""
        return self != PriceSpec(self.currency)


class RunLimits(Value, frozen=True):
    """How many feeds of one instance work at once: in all, and by the name of their pool.

    `feeds_at_most` is how many feeds the instance owns; with it, feeds are shared with other
    instances that have it too. None: it owns all that it can, and others wait.
    """

    parallel: int = 4
    pools: dict[str, int] = {}
    feeds_at_most: int | None = None


class LakeSpec(Value, frozen=True, kw_only=True):
    """The whole configuration; in settings of clients and stores secrets are still references.

    Without `journal` the journals lie in the lake.
    """

    lake: StoreSpec
    journal: StoreSpec | None = None
    kafka: dict[str, str] = {}
    spark: dict[str, str] = {}
    feeds: tuple[FeedSpec, ...] = ()
    registry: dict[str, str] = {}
    prices: PriceSpec = PriceSpec()
    run: RunLimits = RunLimits()

    @property
    def uses_kafka(self) -> bool:
        """True when a feed reads the cluster that `kafka` describes."""
        return any(feed.source.is_kafka for feed in self.feeds)
