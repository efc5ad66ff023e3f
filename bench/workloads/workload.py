"""The workloads of real shape: what makes their records, and how a feed and Spark read them.

No JVM is needed to import this.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bench.avro_events import FIRST_ID
from bench.figures import NEVER_SLOWER, PROTOBUF_SHAPE_TARGET
from bench.workloads.audit_logs import CALLS, audit_log
from bench.workloads.change_envelopes import envelope, envelope_schema, framed_envelope
from bench.workloads.change_events import TABLES, change_event
from bench.workloads.languages import LANGUAGES
from bench.workloads.long_texts import SECTIONS, long_text
from bench.workloads.payments import TYPES, payment
from bench.workloads.proto_envelopes import MESSAGE, proto_envelope, proto_envelope_schema
from bench.workloads.social_posts import TIME_PATTERN, social_post
from bench.workloads.web_clicks import EVENTS, web_click
from bench.workloads.wide_rows import KINDS, wide_row
from penstock.model.spec import DecodeSpec, FeedSpec, RouteSpec, TimeSpec, WindowSpec
from penstock.ports.registry.registry import Registry

# How many times as fast as plain Spark a window is at least, by processor time.
LARGE_TARGET = 1.8
SMALL_TARGET = 2.5
AVRO_TARGET = 2.5
SPARK_PATTERN = "MMM dd HH:mm:ss Z yyyy"  # Spark does not parse names of days
Form = Literal["json", "avro", "framed", "protobuf"]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Records of one shape. `records` are those of a whole run, the first window included.

    `spark_type` and `spark_day` are what Spark writes directories by, as SQL on a record `event`.
    Where Spark has no reader of the format, `beside` names the workload with the same records in
    another one, with which Penstock is compared then.
    """

    name: str
    make: Callable[[int], bytes]
    types: int
    records: int
    target: float
    route: RouteSpec
    time: TimeSpec
    spark_type: str = ""
    spark_day: str = ""
    form: Form = "json"
    beside: str = ""

    @property
    def decode(self) -> DecodeSpec:
        """How records are read."""
        match self.form:
            case "json":
                return DecodeSpec("json")
            case "avro":
                return DecodeSpec("avro", schema_text=envelope_schema())
            case "framed":
                return DecodeSpec("avro")
            case "protobuf":
                text = proto_envelope_schema()
                return DecodeSpec("protobuf", schema_text=text, message=MESSAGE)

    def feed(self, topic: str, max_records: int) -> FeedSpec:
        """A feed of a topic with these records, by type and day."""
        return FeedSpec(
            name="events",
            topics=(topic,),
            decode=self.decode,
            route=self.route,
            time=self.time,
            window=WindowSpec(every_s=0.0, max_records=max_records, max_bytes=10**12),
        )

    def registry(self) -> Registry | None:
        """The schemas that records name, without a server."""
        return Registry("http://bench", _schema_of_table) if self.form == "framed" else None


def _schema_of_table(url: str) -> tuple[int, bytes]:
    place = int(url.rpartition("/")[2]) - FIRST_ID
    return 200, json.dumps({"schema": envelope_schema(TABLES[place])}).encode()


def _by_field(name: str) -> RouteSpec:
    return RouteSpec("field", name)


def _all() -> tuple[Workload, ...]:
    millis = "date(timestamp_millis(event.{}))"
    return (
        Workload(
            name="social",
            make=social_post,
            types=len(LANGUAGES),
            records=50_000,
            target=LARGE_TARGET,
            route=_by_field("lang"),
            time=TimeSpec(field="created_at", unit=TIME_PATTERN),
            spark_type="event.lang",
            spark_day=f"date(to_timestamp(substring(event.created_at, 5), '{SPARK_PATTERN}'))",
        ),
        Workload(
            name="clicks",
            make=web_click,
            types=len(EVENTS),
            records=200_000,
            target=SMALL_TARGET,
            route=_by_field("event"),
            time=TimeSpec(field="ts", unit="ms"),
            spark_type="event.event",
            spark_day=millis.format("ts"),
        ),
        Workload(
            name="audit",
            make=audit_log,
            types=len(CALLS),
            records=80_000,
            target=LARGE_TARGET,
            route=_by_field("eventSource"),
            time=TimeSpec(field="eventTime", unit="iso8601"),
            spark_type="event.eventSource",
            spark_day="date(cast(event.eventTime as timestamp))",
        ),
        Workload(
            name="changes",
            make=change_event,
            types=len(TABLES),
            records=120_000,
            target=LARGE_TARGET,
            route=_by_field("source.table"),
            time=TimeSpec(field="ts_ms", unit="ms"),
            spark_type="event.source.table",
            spark_day=millis.format("ts_ms"),
        ),
        Workload(
            name="payments",
            make=payment,
            types=len(TYPES),
            records=300_000,
            target=SMALL_TARGET,
            route=_by_field("type"),
            time=TimeSpec(field="created_at", unit="iso8601"),
            spark_type="event.type",
            spark_day="date(cast(event.created_at as timestamp))",
        ),
        Workload(
            name="wide",
            make=wide_row,
            types=len(KINDS),
            records=50_000,
            target=NEVER_SLOWER,
            route=_by_field("kind"),
            time=TimeSpec(field="at", unit="s"),
            spark_type="event.kind",
            spark_day="date(timestamp_seconds(event.at))",
        ),
        Workload(
            name="texts",
            make=long_text,
            types=len(SECTIONS),
            records=50_000,
            target=NEVER_SLOWER,
            route=_by_field("section"),
            time=TimeSpec(field="published", unit="iso8601"),
            spark_type="event.section",
            spark_day="date(cast(event.published as timestamp))",
        ),
        Workload(
            name="envelopes",
            make=envelope,
            types=1,
            records=400_000,
            target=AVRO_TARGET,
            route=RouteSpec("topic", ""),
            time=TimeSpec(field="ts_ms"),
            spark_type="event.source.table",
            spark_day="date(event.ts_ms)",
            form="avro",
        ),
        Workload(
            name="framed-envelopes",
            make=framed_envelope,
            types=len(TABLES),
            records=400_000,
            target=AVRO_TARGET,
            route=RouteSpec("schema", "schema"),
            time=TimeSpec(field="ts_ms"),
            spark_type="event.source.table",
            spark_day="date(event.ts_ms)",
            form="framed",
        ),
        Workload(
            name="protobuf-envelopes",
            make=proto_envelope,
            types=1,
            records=400_000,
            target=PROTOBUF_SHAPE_TARGET,
            route=RouteSpec("topic", ""),
            time=TimeSpec(field="ts"),
            form="protobuf",
            beside="envelopes",
        ),
    )


WORKLOADS = {each.name: each for each in _all()}
