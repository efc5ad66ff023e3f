"""Records in several datasets, and arrays of records: every row has one fate and one number."""

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import msgspec
import pyarrow as pa
import pytest

from penstock.datapath.stage.decode_by_schema import FIXED
from penstock.datapath.stage.record_rows import spread_arrays
from penstock.evidence.position_columns import records_evidence
from penstock.model.convert_spec import Condition
from penstock.model.evidence import Evidence
from penstock.model.fork import FORK_ROWS, ForkSpec
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import INT64, STRING, DatasetSchema, decimal_of, with_columns
from penstock.model.spec import DatasetSpec, DecodeSpec, PartitionKey, TimeSpec
from tests.helpers.forked_numbers import EVEN, FEED, SCHEMAS, SPREAD, THIRD, an_array, found, number
from tests.helpers.shredding import NOON_MS, shred


def test_integers_go_to_even_odd_and_multiples_of_three() -> None:
    done = shred(FEED, [number(n) for n in range(1, 7)], SCHEMAS)
    assert found(done, "number") == [(n - 1, 0, n) for n in range(1, 7)]
    assert found(done, "even") == [(n - 1, FORK_ROWS, n) for n in (2, 4, 6)]
    assert found(done, "odd") == [(n - 1, 2 * FORK_ROWS, n) for n in (1, 3, 5)]
    assert found(done, "third") == [(n - 1, 3 * FORK_ROWS, n) for n in (3, 6)]
    evidence = done.report.evidence
    assert (evidence.read.count, evidence.extra.count, evidence.written) == (6, 8, 14)
    assert evidence.rows == (FORK_ROWS, 2 * FORK_ROWS, 3 * FORK_ROWS)


@pytest.mark.parametrize("in_one_pass", [True, False])
def test_rows_of_a_fork_lie_in_the_directory_of_their_value(in_one_pass: bool) -> None:
    """Values come as a column where the parser reads all records in one pass, else as a list."""
    feed = msgspec.structs.replace(FEED, forks=(EVEN,), partition=(PartitionKey("field", "n"),))
    extra = b"{" if in_one_pass else b'{"new": 1, '
    done = shred(feed, [number(n).replace(b"{", extra) for n in (1, 2)], SCHEMAS)
    directories = [final.split("/")[1:3] for final in done.finals()]
    assert sorted(directories) == [["even", "by_n=2"], ["number", "by_n=1"], ["number", "by_n=2"]]


def test_records_that_no_route_wants_may_have_forks() -> None:
    feed = msgspec.structs.replace(FEED, unknown="filter")
    done = shred(feed, [number(n) for n in range(1, 7)], SCHEMAS)
    assert found(done, "number") == []
    assert found(done, "even") == [(n - 1, FORK_ROWS, n) for n in (2, 4, 6)]
    assert (done.report.evidence.filtered.count, done.report.evidence.extra.count) == (6, 8)


def test_a_fork_may_be_for_some_datasets_only() -> None:
    fork = ForkSpec("even", (Condition("n", multiple_of=2),), ("text",))
    feed = msgspec.structs.replace(FEED, forks=(fork,))
    done = shred(feed, [number(2), number(2, "text"), number(1, "text")], SCHEMAS)
    assert found(done, "even") == [(1, FORK_ROWS, 2)]


def test_what_cannot_be_read_has_no_forks_yet() -> None:
    done = shred(FEED, [number(2), b"{", number(4), b'{"n": 2}'], SCHEMAS)
    assert [(r["_offset"], r["_row"], r["dataset"]) for r in done.refused()] == [
        (1, 0, None),
        (3, 0, None),
    ]
    assert found(done, "even") == [(0, FORK_ROWS, 2), (2, FORK_ROWS, 4)]


def test_each_row_of_a_record_is_refused_alone() -> None:
    strict = with_columns(
        [("type", STRING, True), ("at", INT64, True), ("n", INT64, False)], top=True
    )
    asked = (ForkSpec("even", (Condition("n", null=True),)), THIRD)
    feed = msgspec.structs.replace(FEED, forks=asked)
    schemas = {**SCHEMAS, "even": DatasetSchema("even", 1, True, strict)}
    done = shred(feed, [number(None), number(3), number(3, at="no time")], schemas)
    assert found(done, "number") == [(0, 0, None), (1, 0, 3)]
    assert found(done, "third") == [(1, 2 * FORK_ROWS, 3)]
    refused = [(r["_offset"], r["_row"], r["dataset"]) for r in done.refused()]
    assert sorted(refused) == [
        (0, FORK_ROWS, "even"),
        (2, 0, "number"),
        (2, 2 * FORK_ROWS, "third"),
    ]
    named = {(s.dataset, s.row): s.offsets.runs for s in done.report.quarantined}
    assert named == {
        ("even", FORK_ROWS): ((0, 1),),
        ("number", 0): ((2, 3),),
        ("third", 2 * FORK_ROWS): ((2, 3),),
    }
    assert records_evidence(done.report.quarantined) == done.report.evidence.quarantined


@pytest.mark.parametrize("n", [b"1e400", b'{"deep": 1e400}', b"1" + b"0" * 400])
def test_no_number_is_too_large_for_a_fork(n: bytes) -> None:
    large = b'{"type": "number", "at": %d, "n": %s}' % (NOON_MS, n)
    fork = ForkSpec("even", (Condition("n", least=1),))
    feed = msgspec.structs.replace(FEED, forks=(fork,))
    schemas = {
        name: msgspec.structs.replace(each, declared=False) for name, each in SCHEMAS.items()
    }
    done = shred(feed, [number(2), large], schemas)
    assert [row["_offset"] for row in done.rows("number")] == [0, 1]
    is_number = n.startswith(b"10")
    assert [row["_offset"] for row in done.rows("even")] == ([0, 1] if is_number else [0])


def test_a_fork_into_a_dataset_that_nobody_knows_is_learned() -> None:
    known = {"number": SCHEMAS["number"]}
    done = shred(FEED, [number(2), number(3)], known)
    assert {sample.dataset for sample in done.report.samples} == {"even", "odd", "third"}
    assert done.report.files == ()


def test_a_fork_into_the_dataset_of_the_record_itself() -> None:
    feed = msgspec.structs.replace(FEED, forks=(ForkSpec("number", (Condition("n", least=2),)),))
    done = shred(feed, [number(1), number(2)], SCHEMAS)
    assert found(done, "number") == [(0, 0, 1), (1, 0, 2), (1, FORK_ROWS, 2)]


def test_elements_of_an_array_are_rows() -> None:
    values = [an_array(number(1), number(2, "text")), number(3), an_array(), None]
    done = shred(SPREAD, values, SCHEMAS)
    assert found(done, "number") == [(0, 0, 1), (1, 0, 3)]
    assert found(done, "text") == [(0, 1, 2)]
    evidence = done.report.evidence
    assert (evidence.read.count, evidence.extra.count, evidence.filtered.count) == (4, 1, 2)
    assert evidence.rows == (1,)


def test_a_broken_element_is_refused_alone_with_its_own_bytes() -> None:
    broken = number(2, at="never")
    done = shred(SPREAD, [an_array(number(1), broken, number(3))], SCHEMAS)
    assert found(done, "number") == [(0, 0, 1), (0, 2, 3)]
    assert [(r["_row"], r["value"]) for r in done.refused()] == [(1, broken)]


@pytest.mark.parametrize(
    "value",
    [
        b"[" + number(1) + b", 7]",
        b"[" + number(1) + b",",
        b"[" + number(1) + b"] []",
        b"[[]]",
        b"[" * 100_000,
        b'[{"type": "number" "n": 1}]',
    ],
)
def test_what_is_no_array_of_objects_is_refused_whole(value: bytes) -> None:
    done = shred(SPREAD, [number(1), value, number(2)], SCHEMAS)
    assert found(done, "number") == [(0, 0, 1), (2, 0, 2)]
    assert [(r["_offset"], r["_row"], r["value"]) for r in done.refused()] == [(1, 0, value)]


def test_elements_have_forks() -> None:
    feed = msgspec.structs.replace(SPREAD, forks=(EVEN,))
    done = shred(feed, [an_array(number(1), number(2), number(4)), number(6)], SCHEMAS)
    assert found(done, "even") == [
        (0, 1 + FORK_ROWS, 2),
        (0, 2 + FORK_ROWS, 4),
        (1, FORK_ROWS, 6),
    ]
    assert done.report.evidence.extra.count == 2 + 3


def test_long_arrays_are_taken_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.datapath.stage.record_rows.ROWS_AT_ONCE", 3)
    values = [an_array(*(number(n) for n in range(size))) for size in (2, 5, 0, 1, 1, 1, 4)]
    done = shred(SPREAD, values, SCHEMAS)
    wanted = [(at, n, n) for at, size in enumerate((2, 5, 0, 1, 1, 1, 4)) for n in range(size)]
    assert found(done, "number") == wanted
    assert done.report.evidence.filtered.count == 1


def test_a_long_array_is_not_copied_for_each_of_its_elements() -> None:
    """That would be 3 GB here, which is more than one column can hold."""
    elements = [number(n) for n in range(8_000)]
    done = shred(SPREAD, [number(1), an_array(*elements)], SCHEMAS)
    assert [row for _, row, _ in found(done, "number")] == [0, *range(8_000)]


def test_keys_are_not_repeated_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: a long key of a long array. Method: cuts that fall into the middle of records."""
    monkeypatch.setattr("penstock.datapath.stage.record_rows.SPREAD_BYTES", 1_000)
    batch = pa.RecordBatch.from_pydict(
        {
            "offset": [7, 8, 9],
            "key": [b"k" * 300, None, b""],
            "value": [an_array(*map(number, range(10))), an_array(), number(3)],
            "headers": pa.array(["h" * 100, None, None], pa.string()),
        }
    )
    parts = list(spread_arrays(batch))
    assert max(part.batch.num_rows for part in parts) <= 15
    assert sum(part.batch.nbytes for part in parts) < 10_000
    rows = [row for part in parts for row in part.batch.to_pylist()]
    assert [(row["offset"], row["row"]) for row in rows] == [
        *((7, n) for n in range(10)), (8, 0), (9, 0),
    ]  # fmt: skip
    assert [row["value"] for row in rows] == [*map(number, range(10)), b"", number(3)]
    assert all(row["key"] == b"k" * 300 for row in rows[:10])
    fresh = [part.batch["row"][int(at)].as_py() for part in parts for at in part.fresh]
    assert fresh == list(range(1, 10))
    empty = [part.batch["offset"][int(at)].as_py() for part in parts for at in part.empty]
    assert empty == [8]


def test_feeds_without_forks_have_no_row_numbers() -> None:
    feed = msgspec.structs.replace(FEED, forks=(), datasets=(DatasetSpec("number"),))
    done = shred(feed, [number(1), b"{"], SCHEMAS)
    assert "_row" not in done.rows("number")[0]
    assert "_row" not in done.refused()[0]
    assert done.report.evidence.extra == Evidence()


AVRO = json.dumps(
    {
        "type": "record",
        "name": "Number",
        "fields": [{"name": "type", "type": "string"}, {"name": "n", "type": ["null", "long"]}],
    }
)


def in_avro(n: int | None, kind: str = "number") -> bytes:
    out = io.BytesIO()
    parsed = fastavro.parse_schema(json.loads(AVRO))
    fastavro.schemaless_writer(out, parsed, {"type": kind, "n": n})
    return out.getvalue()


@pytest.mark.parametrize("unknown", ["create", "filter"])
def test_records_of_avro_have_forks(unknown: Any) -> None:
    feed = msgspec.structs.replace(
        FEED, decode=DecodeSpec("avro", AVRO), time=TimeSpec(), unknown=unknown
    )
    fields = with_columns([("type", STRING, False), ("n", INT64, True)], top=True)
    schemas = {name: DatasetSchema(name, 1, True, fields) for name in SCHEMAS}
    values = [in_avro(n) for n in range(1, 7)]
    written = {FIXED: RegisteredSchema("avro", AVRO)}
    done = shred(feed, [*values, in_avro(None), b"\x02"], schemas, record_schemas=written)
    firsts = [*((n - 1, 0, n) for n in range(1, 7)), (6, 0, None)]
    assert found(done, "number") == (firsts if unknown == "create" else [])
    assert found(done, "even") == [(n - 1, FORK_ROWS, n) for n in (2, 4, 6)]
    assert found(done, "odd") == [(n - 1, 2 * FORK_ROWS, n) for n in (1, 3, 5)]
    assert [row["_offset"] for row in done.refused()] == [7]
    assert done.report.evidence.filtered.count == (0 if unknown == "create" else 7)


@pytest.mark.parametrize("wanted", [10, 10.0, "10", "10.00"])
def test_decimals_of_avro_are_asked_for_as_numbers(wanted: Any) -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    parts = [{"name": "type", "type": "string"}, {"name": "n", "type": kind}]
    text = json.dumps({"type": "record", "name": "R", "fields": parts})
    values = []
    for n in ("10.00", "10.50", "0.10"):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, json.loads(text), {"type": "number", "n": Decimal(n)})
        values.append(out.getvalue())
    feed = msgspec.structs.replace(
        FEED,
        decode=DecodeSpec("avro", text),
        time=TimeSpec(),
        forks=(ForkSpec("even", (Condition("n", one_of=(wanted, 0.001, 10**40)),)),),
    )
    fields = with_columns([("type", STRING, False), ("n", decimal_of(10, 2), False)], top=True)
    schemas = {name: DatasetSchema(name, 1, True, fields) for name in SCHEMAS}
    done = shred(feed, values, schemas, record_schemas={FIXED: RegisteredSchema("avro", text)})
    assert len(done.rows("number")) == 3
    assert [(row["_offset"], row["n"]) for row in done.rows("even")] == [(0, Decimal(10))]


def test_records_of_messagepack_have_forks() -> None:
    feed = msgspec.structs.replace(FEED, decode=DecodeSpec("msgpack"))
    values = [msgspec.msgpack.encode(json.loads(number(n))) for n in range(1, 7)]
    done = shred(feed, [*values[:2], b"\xc1", None, *values[2:]], SCHEMAS)
    assert [n for _, _, n in found(done, "number")] == [1, 2, 3, 4, 5, 6]
    assert found(done, "third") == [(4, 3 * FORK_ROWS, 3), (7, 3 * FORK_ROWS, 6)]
    assert [row["value"] for row in done.refused()] == [b"\xc1"]
