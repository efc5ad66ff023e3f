"""ORC files: the same rows as in Parquet, our words in the footer, and an audit that reads them."""

import io
import json
import weakref
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pytest

from penstock.api.file_format import FileUnreadable, WriteOptions
from penstock.audit.check_file import FileOrder, check_file
from penstock.audit.positions import NotOurs, open_rows
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.formats.orc import orc as orc_format
from penstock.datapath.formats.orc.orc_footer import with_words
from penstock.datapath.formats.orc.orc_times import TIME_NOT_ORC, not_for_orc
from penstock.datapath.formats.orc.orc_writer import OrcWriter
from penstock.datapath.schemas.schema_files import schema_from_file
from penstock.datapath.stage.spool import Spool
from penstock.model.entries import Bind
from penstock.model.spec import TimeSpec
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.loop.errors import FormatChanged
from tests.helpers.journals import LAYOUT, an_owner
from tests.helpers.lakes_on_disk import DiskLake
from tests.helpers.orc_files import BY_TYPE_ORC, TIMED_TYPES, WORDS, finals, rows_of_both, written
from tests.helpers.shredding import (
    BY_TOPIC,
    BY_TYPE,
    NOON_MS,
    TOPIC,
    an_event,
    learned,
    shred,
)


def test_a_file_without_words_and_one_of_many_are_whole() -> None:
    table = pa.table({"n": range(10)})
    many = {f"word {n}": "x" * 100 for n in range(300)}
    for words in ({}, many):
        read = orc.ORCFile(io.BytesIO(written(table, words=words)))
        assert read.nrows == 10
        assert len(read.schema.metadata or {}) == len(words)
    with pytest.raises(ValueError, match="too many words"):
        written(table, words={"word": "x" * 70_000})


def test_what_does_not_end_as_orc_is_refused() -> None:
    whole = written(pa.table({"n": range(10)}), words={})
    with pytest.raises(ValueError, match="does not end as one"):
        with_words(whole[:-4] + b"XYZ" + whole[-1:], WORDS, chunked=True)


def test_a_task_writes_the_same_rows_in_both_formats() -> None:
    others: list[dict[str, Any]] = [{}, {"page": "/ü"}, {"x": 1.5}, {"page": None}]
    values = [
        an_event("click", n=n, deep={"list": [[n], [], None], "none": None}, **more)
        for n, more in enumerate(others * 50)
    ]
    parquet, in_orc = rows_of_both(values)
    assert len(parquet) == 200
    assert in_orc == parquet


def test_structs_without_a_value_are_null_in_the_rows_that_lack_them() -> None:
    """Goal: rows cut from a larger array keep their nulls. Method: two days, so two files."""
    yesterday = NOON_MS - 86_400_000
    others: list[dict[str, Any]] = [{"who": {"id": 1, "tags": ["x"]}}, {}, {"who": None}]
    values = [
        an_event("click", at=NOON_MS if n % 2 else yesterday, n=n, **some)
        for n, some in enumerate(others * 40)
    ]
    parquet, in_orc = rows_of_both(values)
    assert [row["who"] is None for row in parquet] == [n % 3 != 0 for n in range(120)]
    assert in_orc == parquet


def test_a_task_has_one_orc_file_open_whatever_the_number_of_its_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goal: memory is bounded by bytes. Method: many datasets in a small buffer, so that each is
    flushed often; a writer of ORC holds megabytes for as long as it lives."""
    alive: weakref.WeakSet[OrcWriter] = weakref.WeakSet()
    most = 0

    class Watched(OrcWriter):
        def __init__(self, stream: Any, options: WriteOptions) -> None:
            nonlocal most
            super().__init__(stream, options)
            alive.add(self)
            most = max(most, len(alive))

    monkeypatch.setattr(orc_format, "_writer", Watched)
    kinds = [f"kind{n}" for n in range(20)]
    values = [
        an_event(kinds[n % 20], n=n, t=str(n), deep=[{"x": n}, None], **{f"f{n % 3}": n})
        for n in range(6_000)
    ]
    schemas = learned(*(an_event(kind, n=1, t="", deep=[{"x": 1}], f0=1, f1=1, f2=1)
                        for kind in kinds))  # fmt: skip
    found, plain = (
        shred(feed, values, schemas, batch_rows=500, buffer_bytes=100_000)
        for feed in (BY_TYPE_ORC, BY_TYPE)
    )
    assert most == 1
    finals(found)
    for file in found.report.files:
        read = orc.read_table(io.BytesIO(found.store.read(file.handle.final) or b""))
        assert read.to_pylist() == plain.rows(file.dataset)
        assert footer_of(read)["penstock.ranges"] == "orders/0:0-6000"
    assert sum(file.evidence.count for file in found.report.files) == 6_000


def test_rows_wait_in_the_spool_until_they_are_asked_for() -> None:
    spool = Spool()
    some = pa.table({"n": [1, 2], "t": pa.array(["a", "ü"]).dictionary_encode()})
    more = pa.concat_tables([some, some.slice(1)])
    places = [spool.put(some), spool.put(more), spool.put(some.slice(0, 0))]
    assert spool.get(places[1]).equals(more)
    assert spool.get(places[0]).equals(some)
    assert spool.get(places[2]).num_rows == 0
    spool.clear()
    spool.clear()
    with pytest.raises(ValueError, match="nothing waits"):
        spool.get(places[0])
    assert spool.get(spool.put(some)).equals(some)


def test_broken_records_stay_parquet() -> None:
    found = shred(BY_TYPE_ORC, [an_event("click", n=1), b"{"], learned(an_event("click", n=1)))
    assert sorted(name.rpartition(".")[2] for name in finals(found)) == ["orc", "parquet"]
    assert [row["reason"] for row in found.refused()] == ["NOT_JSON"]


def test_the_audit_reads_every_position_and_the_footer() -> None:
    found = shred(BY_TYPE_ORC, [an_event("click", n=n) for n in range(5_000)],
                  learned(an_event("click", n=1)))  # fmt: skip
    finals(found)
    (file,) = found.report.files
    handle = file.handle
    order = FileOrder(
        final=handle.final, format=orc_format.FORMAT, dataset="click", feed="f", window="1-1",
        size_bytes=handle.size_bytes, checksum=handle.checksum, evidence=file.evidence,
        ranges=file.ranges,
    )  # fmt: skip
    assert check_file(found.store, order).is_as(order)
    elsewhere = msgspec.structs.replace(order, window="2-2")
    assert "window 1-1 instead of 2-2" in check_file(found.store, elsewhere).footer
    rows = orc.read_table(io.BytesIO(found.store.read(handle.final) or b""))
    for doctored in (rows.slice(1), pa.concat_tables([rows, rows.slice(0, 1)])):
        found.store.delete(handle.final)
        found.store.create(handle.final, written(doctored, words=footer_of(rows)))
        seen = check_file(found.store, order)
        assert not seen.has_rows_of(order)
        assert "changed" in seen.unreadable, "some changed bytes would end the process"


def footer_of(table: pa.Table) -> dict[str, str]:
    written = table.schema.metadata or {}
    return {key.decode(): value.decode() for key, value in written.items()}


@pytest.mark.parametrize("cut", [0, 1, 3, 40, 200, 1_000])
def test_a_damaged_file_is_no_file_of_ours(cut: int) -> None:
    mixed = [n * 7919 % 65521 for n in range(5_000)]
    whole = written(pa.table({"_topic": [f"t{n}" for n in mixed], "_partition": mixed}))
    assert len(rows_in(whole)) == 1
    for raw in (whole[:cut], whole[: len(whole) - cut - 1], whole[cut + 1 :] if cut else b"ORC"):
        with pytest.raises(NotOurs):
            list(rows_in(raw))


def rows_in(raw: bytes) -> list[Any]:
    opened = open_rows(io.BytesIO(raw), orc_format.FORMAT)
    try:
        return list(opened.pieces(["_topic"]))
    except FileUnreadable as error:
        raise NotOurs(str(error)) from error


def test_records_with_such_times_are_refused_alone() -> None:
    schema = json.dumps(
        {"type": "record", "name": "click", "fields": [
            {"name": "born", "type": {"type": "long", "logicalType": "timestamp-millis"}}]}
    )  # fmt: skip
    declared = schema_from_file("avsc", schema, "click")
    values = [an_event("click", born=born) for born in (-1500, 1500, -2000, -1)]
    found = shred(BY_TYPE_ORC, values, {"click": declared})
    assert [row["_offset"] for row in found.refused()] == [0, 3]
    assert {row["reason"] for row in found.refused()} == {"TIME_NOT_ORC"}
    assert not shred(BY_TYPE, values, {"click": declared}).refused()


def test_a_tombstone_that_is_kept_is_refused_for_its_time_as_well() -> None:
    feed = msgspec.structs.replace(
        BY_TOPIC, format="orc", time=TimeSpec(missing="1970-01-01", not_before="1900-01-01")
    )
    schemas = {TOPIC: JsonDecoder().infer([b'{"n": 1}'], TOPIC)}
    for kafka_ms, refused in ((-1, 2), (-1_500, 2), (-2_000, 0)):
        found = shred(feed, [None, b'{"n": 1}'], schemas, kafka_ms=kafka_ms)
        assert [row["reason"] for row in found.refused()] == ["TIME_NOT_ORC"] * refused
        assert len(finals(found)) == 1


def test_a_feed_keeps_the_format_of_its_first_start(tmp_path: Path) -> None:
    lake = DiskLake(tmp_path)
    owner = an_owner(lake.room(["a"]), files="orc")
    assert owner.run_window()
    assert owner.fold.state.files == "orc"
    before = list_keys(lake.store, "")
    with pytest.raises(FormatChanged, match="has written orc files since its first start"):
        an_owner(lake.room(["a"]))
    assert list_keys(lake.store, "") == before, "it claims nothing"
    an_owner(lake.room(["a"]), files="orc")


def test_a_journal_that_does_not_say_is_of_parquet(tmp_path: Path) -> None:
    lake = DiskLake(tmp_path)
    owner = an_owner(lake.room(["a"]))
    first = lake.store.read(f"{LAYOUT.journal}/0/{0:020}.json") or b""
    assert b'"files":"parquet"' in first
    old = msgspec.json.decode(first.replace(b',"files":"parquet"', b""), type=dict[str, Any])
    assert msgspec.convert(old["body"], Bind).files == owner.fold.state.files == "parquet"


def test_a_time_of_kafka_counts_as_well() -> None:
    columns = pa.RecordBatch.from_pylist([{"at": 0}, {"at": 1}, {"at": -1}, {}], TIMED_TYPES)
    found = not_for_orc(columns, np.array([-1, -1_000, 5, 0]))
    assert [(bad.index, bad.reason) for bad in found] == [(0, TIME_NOT_ORC), (2, TIME_NOT_ORC)]
