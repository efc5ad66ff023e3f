"""The shredder on records that are whole, broken, new, empty, or far too many kinds."""

import dataclasses
import io
from collections import Counter
from secrets import token_hex

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.formats.parquet.column_encodings import encodings_of, usual_encodings
from penstock.datapath.stage.samples import SAMPLE_ROWS
from penstock.model.schema import INT64, DatasetSchema, Field
from penstock.model.spec import DecodeSpec, PartitionKey, RouteSpec
from penstock.testing.memory_store import MemoryWriter
from tests.helpers.shredding import (
    BY_TOPIC,
    BY_TYPE,
    NOON_MS,
    TOPIC,
    an_event,
    header,
    learned,
    shred,
)


def test_a_record_that_one_pass_cannot_read_lands_as_it_would_alone() -> None:
    """Goal: the quick way changes nothing. Method: usual records with odd ones among them."""
    schemas = learned(an_event("a", n=1), an_event("b", s="x"))
    values = [an_event("a", n=7), an_event("b", s="y")] * 20
    odd = {
        3: an_event("a", n="seven"),
        8: an_event("a", n=1, new=[1]),
        11: b'{"type":"a","at":',
        12: b'{"type":"a","type":"b","at":1794830400000,"s":"z"}',
        17: b'{"n":1}',
        19: an_event("b", s="late", at=10**14),
    }
    for at, payload in odd.items():
        values[at] = payload
    done = shred(BY_TYPE, values, schemas, batch_rows=15)
    alone = {at: shred(BY_TYPE, [payload], schemas) for at, payload in odd.items()}
    for at, single in alone.items():
        for name in ("a", "b"):
            wanted = [{**row, "_offset": at} for row in single.rows(name)]
            assert [row for row in done.rows(name) if row["_offset"] == at] == wanted
        assert [row["reason"] for row in done.refused() if row["_offset"] == at] == [
            row["reason"] for row in single.refused()
        ]
    assert len(done.rows("a")) + len(done.rows("b")) == len(values) - 3
    assert done.report.reasons == Counter(row["reason"] for row in done.refused())
    assert done.report.reasons == {"NOT_JSON": 1, "ROUTE_MISSING": 1, "TIME_TOO_LATE": 1}


def test_a_file_is_whole_however_often_its_buffer_was_written() -> None:
    schemas = learned(an_event("a", n=1, tags=["x"], who={"id": 1}))
    values = [an_event("a", n=n, tags=["x", str(n)], who={"id": n}) for n in range(400)]
    small = shred(BY_TYPE, values, schemas, batch_rows=7, buffer_bytes=20_000).rows("a")
    assert [row["n"] for row in small] == list(range(400))
    assert small == shred(BY_TYPE, values, schemas).rows("a")


def test_files_are_the_same_in_memory_or_not_and_whether_they_share_it_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    day_ms = 86_400_000
    days = [an_event("click", number=at, at=NOON_MS - at % 3 * day_ms) for at in range(3_000)]
    odd = [payload[:-1] + b', "other": [1]}' for payload in days[::7]]  # these come singly, later
    values = [*days[:1_500], *odd, *days[1_500:]]
    usual = shred(BY_TYPE, values, learned(days[0]), batch_rows=1_000)
    monkeypatch.setattr("penstock.datapath.stage.split_rows.ENOUGH_ROWS", 1)
    monkeypatch.setattr("penstock.datapath.stage.open_file.SMALL_BYTES", 0)
    other = shred(BY_TYPE, values, learned(days[0]), batch_rows=1_000)
    tables = [file.read() for file in usual.files("click")]
    assert [(table.num_columns, table.num_rows) for table in tables] == [(8, 1_143)] * 3
    assert all(
        table.equals(file.read()) for table, file in zip(tables, other.files("click"), strict=True)
    )
    for table in tables:
        assert table["_offset"].to_pylist() == sorted(table["_offset"].to_pylist())
    assert [file.evidence for file in usual.report.files] == [
        file.evidence for file in other.report.files
    ]


def test_a_large_file_is_not_made_in_memory_though_it_has_few_of_the_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goal: memory stays bounded. Method: a day of few large rows beside one of many small ones."""
    pieces: Counter[MemoryWriter] = Counter()

    def write(writer: MemoryWriter, data: bytes) -> int:
        pieces[writer] += 1
        return len(data)

    monkeypatch.setattr(MemoryWriter, "write", write)
    small = [an_event("a", at=NOON_MS - 86_400_000, text="") for _ in range(20_000)]
    large = [an_event("a", text=token_hex(100_000)) for _ in range(40)]
    shred(BY_TYPE, small + large, learned(large[0]))
    of_small, of_large = pieces.values()
    assert of_small == 1
    assert of_large > 1


def test_rows_lie_in_the_order_of_their_offsets_and_the_footer_says_whose_they_are() -> None:
    """Records that are looked at singly come later than their batch; the file does not show it."""
    schemas = learned(an_event("a", n=1))
    values = [an_event("a", n=n) for n in range(60)]
    values[3] = an_event("a", n=3, new=1)
    values[40] = an_event("a", n=40, new=2)
    done = shred(BY_TYPE, values, schemas, batch_rows=25)
    (file,) = done.files("a")
    assert file.read()["_offset"].to_pylist() == list(range(60))
    assert file.read()["n"].to_pylist() == list(range(60))
    footer = file.metadata.metadata
    assert footer[b"penstock.feed"] == b"f"
    assert footer[b"penstock.window"] == b"1-1"
    assert footer[b"penstock.generation"] == b"0"
    assert footer[b"penstock.ranges"] == f"{TOPIC}/0:0-60".encode()


def test_what_was_seen_of_a_dataset_serves_for_its_next_file_with_the_same_columns() -> None:
    many = pa.RecordBatch.from_pylist([{"id": n, "kind": n % 3} for n in range(600)])
    few, other = many.slice(0, 5), many.slice(0, 5).drop_columns(["kind"])
    assert usual_encodings("remembering", "d", few, "zstd") is None
    found = usual_encodings("remembering", "d", many, "zstd")
    assert found == encodings_of(many, "zstd")
    assert usual_encodings("remembering", "d", few, "zstd") is found
    assert usual_encodings("remembering", "d", other, "zstd") is None
    assert usual_encodings("remembering", "other", few, "zstd") is None


def test_columns_are_written_in_the_way_that_suits_their_values_also_inside_others() -> None:
    rows = [
        {"id": n, "kind": n % 3, "who": {"os": "web", "ip": f"{n}"}, "tags": ["x"], "at": [n % 99]}
        for n in range(600)
    ]
    batch = pa.RecordBatch.from_pylist(rows)
    assert encodings_of(batch.slice(0, 100), "zstd") is None
    ways = encodings_of(batch, "zstd")
    assert ways is not None
    leaves = ["id", "kind", "who.os", "who.ip", "tags.list.element", "at.list.element"]
    assert ways.use_dictionary == ["kind", "who.os", "tags.list.element", "at.list.element"]
    assert ways.compression == dict(
        zip(leaves, ["none", "none", "none", "zstd", "none", "zstd"], strict=True)
    )
    assert ways.write_statistics == [leaf for leaf in leaves if leaf != "who.ip"]
    parquet = io.BytesIO()
    assert ways.encodings == {"id": "DELTA_BINARY_PACKED", "who.ip": "DELTA_LENGTH_BYTE_ARRAY"}
    settings = {**dataclasses.asdict(ways), "column_encoding": ways.encodings}
    del settings["encodings"]
    with pq.ParquetWriter(parquet, batch.schema, **settings) as writer:
        writer.write_batch(batch)
    group = pq.ParquetFile(parquet).metadata.row_group(0)
    written = [group.column(number) for number in range(group.num_columns)]
    assert [each.path_in_schema for each in written] == leaves
    assert [each.compression for each in written] == [
        {"zstd": "ZSTD", "none": "UNCOMPRESSED"}[ways.compression[leaf]] for leaf in leaves
    ]
    for each in written:
        wanted = ways.encodings.get(each.path_in_schema, "RLE_DICTIONARY")
        assert wanted in each.encodings
    assert [each.is_stats_set for each in written] == [leaf != "who.ip" for leaf in leaves]
    assert [each.has_dictionary_page for each in written] == [
        leaf in ways.use_dictionary for leaf in leaves
    ]


@pytest.mark.parametrize("is_text", [True, False])
def test_a_field_with_a_point_in_its_name_may_have_the_path_of_another(is_text: bool) -> None:
    def event(n: int) -> bytes:
        flat, deep = (f"text{n}", n * 7919) if is_text else (n * 7919, f"text{n}")
        return an_event("a", **{"a.b": flat, "a": {"c": n, "b": deep}})

    values = [event(n) for n in range(600)]
    rows = shred(BY_TYPE, values, learned(values[0])).rows("a")
    assert [row["a"]["c"] for row in rows] == list(range(600))
    # Also when what was seen before `b` was there is remembered.
    few = [an_event("c", **{"a.b": n * 7919, "a": {"c": n}}) for n in range(600)]
    assert len(shred(BY_TYPE, few, learned(few[0])).rows("c")) == 600
    more = [an_event("c", **{"a.b": n, "a": {"c": n, "b": f"text{n}"}}) for n in range(600)]
    assert len(shred(BY_TYPE, more, learned(more[0])).rows("c")) == 600


def test_tombstones_are_kept_as_rows_without_event_columns_where_the_topic_names_the_dataset() -> (
    None
):
    schemas = {TOPIC: JsonDecoder().infer([b'{"n":1}'], TOPIC)}
    done = shred(BY_TOPIC, [b'{"n":1}', None, b'{"n":2}', None], schemas)
    rows = done.rows(TOPIC)
    assert [row["n"] for row in rows] == [1, None, 2, None]
    assert rows[1]["_rest"] is None
    assert done.finals()[0].startswith(f"f/{TOPIC}/day=2026-11-16/")
    assert done.refused() == []


def test_tombstones_are_kept_by_header_and_refused_without_one() -> None:
    feed = msgspec.structs.replace(BY_TOPIC, route=RouteSpec("header", "kind"))
    schemas = learned(an_event("a", n=1))
    done = shred(feed, [None, None], schemas, headers=[header("kind", "a"), None])
    assert [row["_offset"] for row in done.rows("a")] == [0]
    assert done.report.reasons == {"ROUTE_MISSING": 1}
    assert done.refused()[0]["key"] == b"key"


def test_tombstones_without_a_dataset_or_against_a_schema_go_to_the_quarantine() -> None:
    by_field = msgspec.structs.replace(BY_TYPE, tombstones="keep")
    done = shred(by_field, [None], learned(an_event("a")))
    assert done.report.reasons == {"TOMBSTONE": 1}
    by_schema = msgspec.structs.replace(
        BY_TOPIC, route=RouteSpec("schema", "schema"), decode=DecodeSpec("avro")
    )
    done = shred(by_schema, [None], {}, record_schemas={})
    assert done.report.reasons == {"TOMBSTONE": 1}
    assert done.report.samples == (), "else a dataset would be named after the topic"
    strict = DatasetSchema(TOPIC, 1, True, (Field("n", "n", INT64, nullable=False),))
    assert shred(BY_TOPIC, [None], {TOPIC: strict}).report.reasons == {"TOMBSTONE": 1}


def test_a_dataset_first_met_as_a_tombstone_is_asked_for() -> None:
    (sample,) = shred(BY_TOPIC, [None], {}).report.samples
    assert (sample.dataset, sample.is_new, sample.payloads) == (TOPIC, True, ())


def test_the_sample_has_the_record_that_shows_a_new_field_however_late_it_comes() -> None:
    schemas = learned(an_event("a", n=1))
    values = [an_event("a", n=n, often=1) for n in range(2 * SAMPLE_ROWS + 500)]
    values[-1] = an_event("a", n=1, seldom="x")
    (sample,) = shred(BY_TYPE, values, schemas).report.samples
    grown = JsonDecoder().promote(schemas["a"], sample.payloads)
    assert {field.name for field in grown.fields} == {"type", "at", "n", "often", "seldom"}
    assert len(sample.payloads) < 2 * SAMPLE_ROWS + 10


def test_a_field_named_like_the_directory_of_another_keeps_its_own_column() -> None:
    feed = msgspec.structs.replace(BY_TYPE, partition=(PartitionKey("field", "country"),))
    value = an_event("a", country="DE", by_country="me")
    done = shred(feed, [value], learned(value))
    assert "/by_country=DE/" in done.finals()[0]
    (row,) = done.rows("a")
    assert (row["country"], row["field_by_country"]) == ("DE", "me")
    assert "by_country" not in row


def test_a_flood_of_types_is_capped_into_the_quarantine() -> None:
    """A first read names a few new types only; when they are known the rest is refused."""
    values = [an_event(f"t{n}", n=n) for n in range(3_000)]
    first = shred(BY_TYPE, values, {}, max_new=20).report
    assert [sample.dataset for sample in first.samples] == sorted(f"t{n}" for n in range(20))
    assert first.files == ()
    known = learned(*values[:20])
    done = shred(BY_TYPE, values, known, max_new=0)
    assert done.report.reasons == {"ROUTE_FLOOD": 2_980}
    assert done.report.samples == ()
    assert len(done.report.files) == 21
    assert {row["value"] for row in done.refused()} == set(values[20:])


def test_once_a_new_dataset_was_met_the_rest_is_only_looked_through_for_more() -> None:
    """Goal: a read that will be repeated costs little. Method: known records come afterwards."""
    schemas = learned(an_event("a", n=1))
    values = [an_event("b", n=1), *[an_event("a", n=1, later=2)] * 3, an_event("c", n=1)]
    report = shred(BY_TYPE, values, schemas, batch_rows=1).report
    assert [(each.dataset, each.is_new) for each in report.samples] == [("b", True), ("c", True)]
    assert report.files == ()
