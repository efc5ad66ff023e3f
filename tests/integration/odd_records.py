"""Records as odd as Kafka takes them, and a lake's rows of them compared byte for byte.

The comparison shares no code with Penstock: a client that is not Java's reads Kafka, DuckDB reads
keys, values and headers of the files, and pyarrow the timestamps, which DuckDB cannot hold all.
"""

import base64
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.config.example import example_text
from penstock.config.load import load
from penstock.model.spec import FeedSpec
from penstock.testing.kafka_client import Headers, KafkaClient, ReadRecord, Record

ODD_TIMES = {
    "message.timestamp.before.max.ms": str(2**63 - 1),
    "message.timestamp.after.max.ms": str(2**63 - 1),
}
LARGE = {"max.message.bytes": "20000000"}
# None; of before 1970; the first second; 2012; the year 9999; what Spark can only just hold.
TIMES = (-1, -5, -86_400_000, 1, 1_340_000_000_000, 253_402_300_799_000, 9_223_372_036_854_775)
LARGE_BYTES = 10_000_000
_PIECES = (None, b"", b"\0", b"\xff\xfe", b"caf\xc3\xa9", b"{}", b"null", b"\xc3(")
_TYPES = ("", "CreateTime", "LogAppendTime")  # by librdkafka's numbers


class Kept(NamedTuple):
    """A record, as far as Kafka and the lake both know it. Headers in their order."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int


def raw_feed(folder: Path, *topics: str, **changes: object) -> FeedSpec:
    """The backup feed of the written file, over other topics."""
    path = folder / "penstock.yaml"
    path.write_text(example_text(with_backup=True))
    (raw,) = [feed for feed in load(path, {}).feeds if feed.name == "raw_events"]
    return msgspec.structs.replace(raw, topics=topics, **changes)


def odd_records(count: int, seed: int, large: int = 0) -> Iterator[Record]:
    """So many records; the same for the same seed. `large` of them have 10 MB, spread evenly."""
    random = Random(seed)
    now = int(time.time() * 1000)
    for number in range(count):
        value = _bytes(random, 300)
        if large and number % (count // large) == count // large // 2:
            value = random.randbytes(LARGE_BYTES)
        at = (
            random.choice(TIMES)
            if random.random() < 0.1
            else now - random.randrange(3 * 86_400_000)
        )
        yield Record(value, _bytes(random, 40), _headers(random), at)


def _bytes(random: Random, most: int) -> bytes | None:
    if random.random() < 0.3:
        return random.choice(_PIECES)
    return random.randbytes(random.randrange(most))


def _headers(random: Random) -> Headers:
    """None mostly; else up to six, with few names, so that they repeat; some without a value."""
    if random.random() < 0.6:
        return ()
    names = ("trace", "trace", "", "größe", '"quoted"\n', "\U0001f6b0")
    return tuple((random.choice(names), _bytes(random, 12)) for _ in range(random.randrange(1, 7)))


def compare_bytes(files: Iterable[Path], client: KafkaClient, *topics: str) -> Counter[str]:
    """Every record of some topics is in the files once, whole. Counts of what there was, by kind.

    Raises AssertionError that names the first record that differs.
    """
    wanted = {
        (topic, record.partition, record.offset): record
        for topic in topics
        for record in client.read_each(topic)
    }
    seen: Counter[str] = Counter()
    for path in files:
        for place, kept, kind in _rows(path):
            record = wanted.pop(place, None)
            assert record is not None, f"{place} is there twice, or was never written"
            assert kept == _kept(record), place
            known = _TYPES[record.timestamp_type]
            assert kind == (known or kind), place
            seen.update(_kinds(record))
    assert not wanted, f"{len(wanted)} records are missing, the first is {min(wanted)}"
    return seen


def _kept(record: ReadRecord) -> Kept:
    return Kept(record.key, record.value, record.headers, record.timestamp_ms)


def _kinds(record: ReadRecord) -> Iterator[str]:
    yield "all"
    for name, part in (("key", record.key), ("value", record.value)):
        if not part:
            yield f"{'null' if part is None else 'empty'} {name}"
    names = [name for name, _ in record.headers]
    if len(set(names)) < len(names):
        yield "repeated header"
    if any(value is None for _, value in record.headers):
        yield "null header"
    if record.timestamp_ms in TIMES:
        yield "odd time"
    if record.value is not None and len(record.value) == LARGE_BYTES:
        yield "large value"


def _rows(path: Path) -> Iterator[tuple[tuple[str, int, int], Kept, str | None]]:
    """The rows of one file, some at a time."""
    times = pq.ParquetFile(path).read(["_timestamp"])["_timestamp"].cast(pa.timestamp("ms"))
    stamps = iter(times.cast(pa.int64()).to_pylist())
    with duckdb.connect() as database:
        found = database.execute(
            "select _topic, _partition, _offset, _key, value, _headers, _timestamp_type "
            "from read_parquet(?, hive_partitioning = false)",
            [str(path)],
        )
        while some := found.fetchmany(10_000):
            for topic, partition, offset, key, value, headers, kind in some:
                kept = Kept(key, value, _read_headers(headers), next(stamps))
                yield (topic, partition, offset), kept, kind


def _read_headers(text: str | None) -> Headers:
    """As docs/backup.md says that they are written."""
    return tuple(
        (each["key"], base64.b64decode(each["value"]) if "value" in each else None)
        for each in json.loads(text or "[]")
    )
