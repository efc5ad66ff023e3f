"""A feed of raw records: nothing is null but what was, and a source that gives a few at a time."""

import io
from collections.abc import Iterator

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.api.source import LEAST_READ, ReadRequest, ReadTooMuch, Task
from penstock.datapath.codec import codecs
from penstock.datapath.codec.raw import raw_reader
from penstock.model.schema import BINARY, Field
from penstock.model.spec import DecodeSpec, QuarantineSpec, RouteSpec, TimeSpec, WindowSpec
from penstock.ports.store.list_keys import list_keys
from penstock.testing.list_source import ListedRecord, ListSource
from tests.helpers.list_story import FEED, TOPIC, Story, events, places

RAW = msgspec.structs.replace(
    FEED,
    decode=DecodeSpec("raw"),
    route=RouteSpec("topic"),
    time=TimeSpec(missing="9999-12-31", outside="9999-12-31"),
    include=("key", "headers", "timestamp_type"),
    tombstones="keep",
    quarantine=QuarantineSpec(0.0, 0),
)
ODD = [
    ListedRecord(None, b"gone"),
    ListedRecord(b"", b""),
    ListedRecord(b"\xff\x00", None, (("a", None), ("a", b""))),
    ListedRecord(b"early", timestamp_ms=-1),
    ListedRecord(b"late", timestamp_ms=2**63 - 1),
]


def rows(story: Story) -> dict[tuple[int, int], dict[str, object]]:
    """All rows of all data files by their positions; the timestamp as the number that it is."""
    found = {}
    for key in list_keys(story.store, "feed"):
        if key.endswith(".parquet"):
            table = pq.read_table(io.BytesIO(story.store.read(key) or b""))
            at = table.schema.get_field_index("_timestamp")
            stamps = table["_timestamp"].cast(pa.timestamp("ms")).cast(pa.int64())
            for row in table.set_column(at, "_timestamp", stamps).to_pylist():
                found[row["_partition"], row["_offset"]] = row
    return found


def test_a_raw_feed_keeps_nothing_and_empty_apart_and_refuses_no_time() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *ODD)
    assert story.run_once(RAW) == 0
    found = [row for _, row in sorted(rows(story).items())]
    assert [row["value"] for row in found] == [record.value for record in ODD]
    assert [row["_key"] for row in found] == [record.key for record in ODD]
    assert [row["_headers"] for row in found] == [
        None, None, '[{"key":"a"},{"key":"a","value":""}]', None, None
    ]  # fmt: skip
    assert [row["_timestamp"] for row in found][-2:] == [-1, 2**63 - 1]
    assert {row["_timestamp_type"] for row in found} == {None}  # a list does not know
    days = {key.split("/")[2] for key in list_keys(story.store, "feed") if ".parquet" in key}
    assert {"day=9999-12-31"} < days
    assert story.quarantined() == places(0)


@pytest.fixture
def required_values(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Raw records as versions before this one declared them."""
    field = Field("value", "value", BINARY, nullable=False)
    schema = pa.schema([pa.field("value", pa.binary(), nullable=False)])
    monkeypatch.setattr(raw_reader, "_FIELDS", (field,))
    monkeypatch.setattr(raw_reader, "_SCHEMA", schema)
    codecs._compiled.cache_clear()
    yield monkeypatch
    codecs._compiled.cache_clear()


def test_a_raw_dataset_of_an_older_version_takes_records_without_a_value(
    required_values: pytest.MonkeyPatch,
) -> None:
    """Its column was required. The first read of this version makes it one that may be null."""
    story = Story()
    story.cluster.append(TOPIC, 0, b"one")
    assert story.run_once(RAW) == 0
    required_values.undo()
    codecs._compiled.cache_clear()
    story.cluster.append(TOPIC, 0, ListedRecord(None, b"gone"))
    assert story.run_once(RAW) == 0
    assert [row["value"] for _, row in sorted(rows(story).items())] == [b"one", None]
    assert story.quarantined() == places(0)


class FewAtATime(ListSource):
    """A source whose records cannot be read with many others."""

    def read(self, request: ReadRequest, task: Task) -> list[bytes]:
        if sum(map(len, request.ranges)) > LEAST_READ:
            raise ReadTooMuch(request.name, "a record is odd")
        return super().read(request, task)


def test_what_is_too_much_for_a_source_is_read_in_smaller_windows() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 5 * LEAST_READ))
    feed = msgspec.structs.replace(RAW, window=WindowSpec(max_records=100_000))
    assert story.run_once(feed, FewAtATime) == 0
    assert story.delivered() == places(0, *range(5 * LEAST_READ))
    assert "timed_out" in {event.name for event in story.events}
    assert any("WINDOW_TOO_MUCH" in line and "a record is odd" in line for line in story.said)
