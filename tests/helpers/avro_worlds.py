"""Avro schemas and records of them, made by Hypothesis; bytes by fastavro, which we do not use."""

import io
import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import fastavro
from hypothesis import strategies as st

NAMES = ["a", "b", "c", "id", "_x", "day", "Value", "value", "type"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INT32 = st.one_of(st.sampled_from([0, -1, 1, 63, 64, -(2**31), 2**31 - 1]), st.integers(-300, 300))
INT64 = st.one_of(
    st.sampled_from([0, -1, 2**31, -(2**63), 2**63 - 1, 2**55, 2**56, -(2**56), 2**62]),
    st.integers(-(2**63), 2**63 - 1),
)
DOUBLES = st.floats(allow_nan=False)
FLOATS = st.floats(allow_nan=False, width=32)
TEXTS = st.text(max_size=20).filter(lambda text: "\x00" not in text)
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))


@dataclass(frozen=True)
class Kind:
    """A schema, and values of it as fastavro takes them."""

    schema: Any
    values: st.SearchStrategy[Any]


def plain(name: str, values: st.SearchStrategy[Any]) -> Kind:
    return Kind(name, values)


def logical(base: str, name: str, values: st.SearchStrategy[Any], **more: Any) -> Kind:
    return Kind({"type": base, "logicalType": name, **more}, values)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda digits: exactly(digits, scale))


def exactly(digits: int, scale: int) -> Decimal:
    """A decimal of any length; arithmetic would round it."""
    return Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -scale))


SCALARS = [
    plain("boolean", st.booleans()),
    plain("int", INT32),
    plain("long", INT64),
    plain("float", FLOATS),
    plain("double", DOUBLES),
    plain("string", TEXTS),
    plain("bytes", st.binary(max_size=20)),
    logical("int", "date", DAYS),
    logical("long", "timestamp-millis", TIMES.map(lambda t: t.replace(
        microsecond=t.microsecond // 1000 * 1000, tzinfo=UTC))),
    logical("long", "timestamp-micros", TIMES.map(lambda t: t.replace(tzinfo=UTC))),
    logical("long", "local-timestamp-millis", TIMES.map(lambda t: t.replace(
        microsecond=t.microsecond // 1000 * 1000))),
    logical("long", "local-timestamp-micros", TIMES),
    logical("long", "timestamp-nanos", INT64),
    logical("long", "local-timestamp-nanos", INT64),
    logical("int", "time-millis", st.times().map(lambda t: t.replace(
        microsecond=t.microsecond // 1000 * 1000))),
    logical("long", "time-micros", st.times()),
    logical("string", "uuid", st.uuids()),
    logical("bytes", "big-decimal", st.binary(max_size=20)),
    logical("bytes", "decimal", decimals(12, 3), precision=12, scale=3),
    logical("bytes", "decimal", decimals(38, 10), precision=38, scale=10),
    logical("bytes", "decimal", decimals(38, 10), precision=64, scale=10),
    logical("string", "decimal", TEXTS, precision=12, scale=3),
    logical("int", "decimal", INT32, precision=12, scale=3),
]  # fmt: skip


class Maker:
    """Draws schemas; named types get numbers, since a name may be defined only once."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        self._named = 0

    def kind(self, depth: int) -> Kind:
        """Any type."""
        choices = ["scalar", "scalar", "scalar", "enum", "fixed", "decimal", "meaning", "empty"]
        if depth > 0:
            choices += ["record", "array", "map", "nullable", "nullable", "union"]
        made: Kind = getattr(self, f"_{self._draw(st.sampled_from(choices))}")(depth)
        return made

    def record(self, depth: int) -> Kind:
        """A record of a few fields; never only nulls."""
        names = self._draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
        kinds = [self.kind(depth - 1) for _ in names]
        fields = [{"name": n, "type": k.schema} for n, k in zip(names, kinds, strict=True)]
        pairs = {n: k.values for n, k in zip(names, kinds, strict=True)}
        schema = {"type": "record", "name": self._name(), "fields": fields}
        return Kind(schema, st.fixed_dictionaries(pairs))

    _record = record

    def _name(self) -> str:
        self._named += 1
        return f"N{self._named}"

    def _scalar(self, _: int) -> Kind:
        found: Kind = self._draw(st.sampled_from(SCALARS))
        return found

    def _enum(self, _: int) -> Kind:
        symbols = ["RED", "GREEN", "BLUE"]
        schema = {"type": "enum", "name": self._name(), "symbols": symbols}
        return Kind(schema, st.sampled_from(symbols))

    def _fixed(self, _: int) -> Kind:
        size = self._draw(st.sampled_from([0, 1, 3, 16, 40]))
        schema = {"type": "fixed", "name": self._name(), "size": size}
        return Kind(schema, st.binary(min_size=size, max_size=size))

    def _decimal(self, _: int) -> Kind:
        size, precision = self._draw(st.sampled_from([(1, 2), (9, 18), (16, 38), (17, 38)]))
        scale = self._draw(st.sampled_from([0, 2, precision]))
        schema = {
            "type": "fixed",
            "name": self._name(),
            "size": size,
            "logicalType": "decimal",
            "precision": precision,
            "scale": scale,
        }
        return Kind(schema, decimals(precision, scale))

    def _meaning(self, _: int) -> Kind:
        """A fixed type whose meaning has no column of its own, in Avro or at all."""
        meanings = [("duration", 12), ("uuid", 16), ("made-up", 3)]
        logical, size = self._draw(st.sampled_from(meanings))
        schema = {"type": "fixed", "name": self._name(), "size": size, "logicalType": logical}
        return Kind(schema, st.binary(min_size=size, max_size=size))

    def _empty(self, _: int) -> Kind:
        return Kind({"type": "record", "name": self._name(), "fields": []}, st.just({}))

    def _array(self, depth: int) -> Kind:
        item = self.kind(depth - 1)
        most = self._draw(st.sampled_from([2, 5, 70]))
        return Kind({"type": "array", "items": item.schema}, st.lists(item.values, max_size=most))

    def _map(self, depth: int) -> Kind:
        item = self.kind(depth - 1)
        values = st.dictionaries(TEXTS, item.values, max_size=3)
        return Kind({"type": "map", "values": item.schema}, values)

    def _nullable(self, depth: int) -> Kind:
        inside = self.kind(depth - 1)
        if isinstance(inside.schema, list):
            return inside
        first = self._draw(st.booleans())
        schema = ["null", inside.schema] if first else [inside.schema, "null"]
        return Kind(schema, st.one_of(st.none(), inside.values))

    def _union(self, depth: int) -> Kind:
        """A union whose branches a value cannot be mistaken for: a text, a number, a record."""
        record = self.record(depth - 1)
        branches: list[tuple[Any, st.SearchStrategy[Any]]] = [
            ("string", TEXTS),
            ("long", INT64),
            (record.schema, record.values.map(partial(_named, record.schema["name"]))),
        ]
        with_null = self._draw(st.booleans())
        values = st.one_of(*(each for _, each in branches), *([st.none()] if with_null else []))
        schema = [each for each, _ in branches] + (["null"] if with_null else [])
        return Kind(schema, values)


def _named(name: str, value: Any) -> tuple[str, Any]:
    return name, value


@dataclass(frozen=True)
class World:
    """A schema in words, and records of it as bytes."""

    text: str
    payloads: list[bytes]


@st.composite
def worlds(draw: Any, records: int = 12) -> World:
    """A schema and records written with it."""
    kind = Maker(draw).record(3)
    parsed = fastavro.parse_schema(json.loads(json.dumps(kind.schema)))
    values = draw(st.lists(kind.values, min_size=1, max_size=records))
    return World(json.dumps(kind.schema), [written(parsed, value) for value in values])


@st.composite
def block_worlds(draw: Any) -> World:
    """Records of one array or map, in any number of blocks, some of which tell their size.

    fastavro writes every item, and reads all of it; it makes no such blocks by itself.
    """
    item, is_map = Maker(draw).kind(2), draw(st.booleans())
    parsed = fastavro.parse_schema(json.loads(json.dumps(item.schema)))
    values = st.lists(st.tuples(TEXTS, item.values), max_size=draw(st.sampled_from([3, 70])))
    payloads = []
    for items in draw(st.lists(values, min_size=1, max_size=8)):
        pieces = [written(parsed, value) for _, value in items]
        if is_map:
            named = {key: written("string", key) + written(parsed, value) for key, value in items}
            pieces = list(named.values())
        payloads.append(b"".join(draw(blocks(pieces))))
    array, mapped = {"type": "array", "items": item.schema}, {"type": "map", "values": item.schema}
    field = {"name": "a", "type": mapped if is_map else array}
    return World(json.dumps({"type": "record", "name": "R", "fields": [field]}), payloads)


@st.composite
def blocks(draw: Any, pieces: list[bytes]) -> list[bytes]:
    """Items in blocks: a count and the items, or a count below zero, a size and the items."""
    found, left = [], list(pieces)
    while left:
        count = draw(st.integers(1, len(left)) | st.just(len(left)))
        block, left = b"".join(left[:count]), left[count:]
        tells = draw(st.booleans())
        head = [-count, len(block)] if tells else [count]
        found.append(b"".join(written("long", each) for each in head) + block)
    return [*found, written("long", 0)]


def written(schema: Any, value: Any) -> bytes:
    """One record as bytes."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def read_back(text: str, payload: bytes) -> Any:
    """What fastavro makes of a record; it must use all of its bytes."""
    source = io.BytesIO(payload)
    found = fastavro.schemaless_reader(
        source,
        fastavro.parse_schema(json.loads(text)),
        return_record_name=True,
    )
    assert source.read() == b""
    return found


def ticks(value: time, logical: str) -> int:
    """A time of day as a count of its unit."""
    since = timedelta(
        hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
    )
    return since // timedelta(microseconds=1_000 if logical == "time-millis" else 1)


def micros(value: datetime) -> int:
    """A time as a count."""
    zoned = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (zoned - EPOCH) // timedelta(microseconds=1)
