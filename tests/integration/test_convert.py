"""Converters on real parts: every record once, as it should be after all steps; then mended."""

import hashlib
import hmac
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pyspark.sql import SparkSession

from penstock.care.replay import live_records, replay
from penstock.care.replay_stager import ReplayStager
from penstock.datapath.schemas.learning import Learning
from penstock.datapath.schemas.schema_objects import stored_schemas
from penstock.datapath.shape.convert import plugins
from penstock.model.convert_spec import Condition, ConvertSpec
from penstock.model.encryption_keys import Keys
from penstock.model.layout import Layout
from penstock.ports.store.local.local_store import LocalStore
from penstock.spark.parallel_map import SparkParallelMap
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, ReadRecord
from tests.helpers.plugin_packages import zipped
from tests.integration.lakes import (
    AROUND,
    HASTY,
    Row,
    audit_deep,
    deep_fold,
    event,
    journal_of,
    landed,
    mixed_feed,
    positions_in,
    run_feeds,
)

pytestmark = pytest.mark.xdist_group("kafka")

KEY = bytes(range(32))
KEYS = Keys({("hash", "h"): b"salt", ("encrypt", "e"): KEY})
CAST = ConvertSpec("cast", ("price",), ("int64",))
STEPS = (
    ConvertSpec("filter", conditions=(Condition("n", least=5),)),
    ConvertSpec("plugin", ("ending",), ("shout",), ("!",)),
    CAST,
    ConvertSpec("rename", ("who",), ("name",)),
    ConvertSpec("mask", ("phone",), ("4",)),
    ConvertSpec("hash", ("email",), ("h",)),
    ConvertSpec("encrypt", ("ssn",), ("e",)),
    ConvertSpec("flatten", ("device",)),
    ConvertSpec("set", ("source",), constants=("web",)),
    ConvertSpec("drop", ("half",), datasets=("click",)),
)


def a_record(number: int) -> bytes:
    """Every tenth price is none, every twelfth name is a number; some are nobody's."""
    who = {7: "nobody", 3: str(number)}.get(number % 12, f"u{number}")
    return event(
        ("click", "view")[number % 2],
        number,
        who=who,
        price="n/a" if number % 10 == 9 else str(number),
        phone=f"0049 30 {number:04}",
        email=f"{number}@example.org",
        ssn=f"{number}-1",
        device={"os": "i", "build": number},
    )


def check(row: Row, record: ReadRecord) -> None:
    """A row is what the steps make of its record."""
    said = json.loads(record.value or b"")
    found: dict[str, Any] = row.columns
    number = said["n"]
    assert number >= 5
    assert (found["name"], found["length"]) == (said["who"].upper() + "!", len(said["who"]))
    assert found["price"] == (None if said["price"] == "n/a" else number)
    assert found["phone"] == f"***{number:04}"
    digest = hmac.new(b"salt", said["email"].encode(), hashlib.sha256).hexdigest()
    assert found["email"] == digest
    sealed = found["ssn"]
    assert AESGCM(KEY).decrypt(sealed[:12], sealed[12:], None).decode() == said["ssn"]
    assert (found["device_os"], found["device_build"], found["source"]) == ("i", number, "web")
    assert ("half" in found) == (said["type"] == "view")
    assert found["_rest"] is None
    assert not {"who", "device"} & set(found)


@pytest.fixture
def plugins_everywhere(spark: SparkSession, tmp_path: Path) -> Iterator[None]:
    """A package with plug-ins for driver and workers; gone again for the tests after this."""
    before = list(sys.path)
    spark.sparkContext.addPyFile(str(zipped(tmp_path / "shouting_there.zip", "shouting_there")))
    yield
    sys.path[:] = before
    plugins._made.cache_clear()


@pytest.mark.usefixtures("plugins_everywhere")
def test_records_are_converted_once_and_what_could_not_be_is_replayed(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    client.create_topic("converted", partitions=2)
    for partition in (0, 1):
        client.produce("converted", partition, [a_record(n) for n in range(120)])
    feed = mixed_feed("converted", convert=STEPS)
    code, told = run_feeds(spark, kafka, LocalStore(lake), feed, keys=KEYS)
    assert code == 0, told
    found = landed(lake, client, "converted", check=check)
    reasons = {row["reason"] for row in found.refused.values()}
    assert reasons == {"CAST_FAILED", "CONVERT_FAILED"}
    assert len(found.filtered) == 2 * (5 + 10)
    assert len(found.refused) == 2 * (9 + 8)
    assert audit_deep(spark, kafka, lake).differences == ()
    for path in lake.rglob("*"):
        if path.is_file():
            assert KEY not in path.read_bytes(), path

    mended = msgspec.structs.replace(
        feed, convert=(*STEPS[:2], ConvertSpec("plugin", words=("mend",)), *STEPS[2:])
    )
    layout = Layout("events")
    store = LocalStore(lake)
    again = ReplayStager(
        mended,
        store,
        Learning(store, layout, mended, None, KEYS),
        SparkParallelMap(lambda: spark, lambda _what, _done, _of: None),
        AROUND,
    )
    replay(journal_of(lake), HASTY, "a test", again)
    assert (again.tried, dict(again.stays)) == (34, {"CONVERT_FAILED": 18})
    fold = deep_fold(lake)
    data, _ = positions_in(lake, fold)
    assert len(data) == sum(data.values()) == 240 - 30 - 18
    assert sum(len(part.offsets) for part in live_records(fold)) == 18
    assert audit_deep(spark, kafka, lake).differences == ()
    assert {s.version for s in stored_schemas(store, layout.schemas)} == {1}
    assert {s.dataset for s in stored_schemas(store, layout.reading)} == {"click", "view"}
