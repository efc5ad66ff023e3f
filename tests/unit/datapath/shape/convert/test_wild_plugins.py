"""Plug-ins that do what nobody thought of: each record is converted, filtered or bad still."""

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.api.converter import ConvertedBatch
from penstock.datapath.shape.convert import plugins
from penstock.datapath.shape.convert.flow import ConvertImpossible, Flow, Given
from penstock.model.convert_spec import ConvertSpec
from tests.helpers.conversions import table, through

AT = pa.field("at", pa.timestamp("us", tz="UTC"))
STEP = ConvertSpec("plugin", words=("wild",))
ROWS = [{"n": 0, "who": "zero"}, {"n": 1, "who": "one"}, {"n": 2, "who": "twice"}]

Install = Callable[[Any], None]


@pytest.fixture(name="install")
def _install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Makes an object the plug-in that every name finds."""
    return lambda made: monkeypatch.setattr(plugins, "_made", lambda _: made)


class OnRecords:
    """A plug-in on records, of a function."""

    def __init__(self, convert: Callable[[dict[str, Any]], Any], *declared: Any) -> None:
        self.convert_record = convert
        self._declared = pa.schema(list(declared)) if declared else None

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return self._declared or schema


def on_records(convert: Callable[[dict[str, Any]], Any], *declared: Any) -> Any:
    return plugins._Records(OnRecords(convert, *declared))


def whys(flow: Flow) -> dict[int, str]:
    assert {bad.reason for bad in flow.bad} <= {"CONVERT_FAILED"}
    for bad in flow.bad:
        bad.detail.encode()
    return {bad.index: bad.detail.removeprefix("wild: ") for bad in flow.bad}


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        (pa.int64(), 1.5, "v is not a int64"),
        (pa.date32(), 1.5, "v is not a date32[day]"),
        (pa.struct([("k", pa.int64())]), [("k", 1)], "v is not a struct<k: int64>"),
        (
            pa.list_(pa.struct([("k", pa.int64())])),
            [{"k": 1, "more": 2}],
            "it returned a field that it has not declared",
        ),
    ],
)
def test_a_record_with_a_value_of_another_type_is_bad_alone(
    install: Install, kind: pa.DataType, value: Any, why: str
) -> None:
    answers = {0: {}, 1: {"v": value}, 2: {"v": None}}
    install(on_records(lambda record: answers[record["n"]], ("v", kind)))
    flow = through(STEP, rows=ROWS)
    assert flow.rows.tolist() == [0, 2]
    assert table(flow) == {"v": [None, None]}
    assert whys(flow) == {1: why}


class OnBatches:
    """A plug-in on batches, of a function."""

    def __init__(self, convert: Callable[[pa.RecordBatch], Any], *more: Any) -> None:
        self.convert_batch = convert
        self._more = more

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema([*schema, *self._more])


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class Panic(BaseException):
    """As libraries written in Rust raise them."""


def raising(error: BaseException) -> Callable[[Any], Any]:
    def convert(_: Any) -> Any:
        raise error

    return convert


ERRORS = [
    (ValueError("cannot read \udcff"), "ValueError: cannot read ?"),
    (Speechless(), "Speechless: an error without words"),
    (Panic("at once"), "Panic: at once"),
]


@pytest.mark.parametrize(("error", "why"), ERRORS)
def test_whatever_a_plugin_raises_has_words_that_can_be_written(
    install: Install, error: BaseException, why: str
) -> None:
    for made in (on_records(raising(error)), OnBatches(raising(error))):
        install(made)
        assert whys(through(STEP, rows=ROWS)) == dict.fromkeys(range(3), why)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit()])
def test_who_ends_the_process_is_obeyed(install: Install, error: BaseException) -> None:
    for made in (on_records(raising(error)), OnBatches(raising(error))):
        install(made)
        with pytest.raises(type(error)):
            through(STEP, rows=ROWS)


def test_a_record_that_python_cannot_hold_is_bad_alone(install: Install) -> None:
    at = pa.array([0, 2**62, 0], pa.timestamp("us", tz="UTC"))
    later = OnBatches(
        lambda batch: ConvertedBatch(batch.append_column(AT, at), range(3)),
        AT,
    )
    install(later)
    flow = through(STEP, rows=ROWS)

    def convert(record: dict[str, Any]) -> dict[str, Any]:
        if record["n"] == 2:
            raise ValueError(f"{record['who']} is too much")
        return record

    install(on_records(convert))
    flow = plugins.plugin(flow, STEP, Given())
    assert flow.rows.tolist() == [0]
    found = whys(flow)
    assert found.pop(1).startswith("it cannot be given the record: OverflowError")
    assert found == {2: "ValueError: *** is too much"}


SOME: list[tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]] = [
    (lambda: [0], lambda: (), lambda: zip([1, 2], ["a", "b"], strict=True)),
    (lambda: iter([0]), lambda: (row for row in [1]), lambda: {(2, "b")}),
    (lambda: {0}, lambda: {1, 2}, lambda: iter(())),
    (lambda: np.array([0]), lambda: pa.array([1, 2]), list),
    (lambda: pa.chunked_array([[0]]), lambda: range(1, 3), tuple),
]


@pytest.mark.parametrize(("rows", "filtered", "bad"), SOME)
def test_rows_may_be_named_by_anything_that_can_be_gone_through(
    install: Install, rows: Any, filtered: Any, bad: Any
) -> None:
    install(OnBatches(lambda batch: ConvertedBatch(batch.slice(0, 1), rows(), filtered(), bad())))
    flow = through(STEP, rows=ROWS)
    assert table(flow)["who"] == ["zero"]


class Halved:
    def __str__(self) -> str:
        return "half \ud800"


def told(batch: Any, rows: Any, filtered: Any = (), bad: Any = ()) -> ConvertedBatch:
    """What a plug-in returns that no checker of types has seen."""
    return ConvertedBatch(batch, rows, filtered, bad)


WRONG: list[tuple[Callable[[pa.RecordBatch], Any], str]] = [
    (lambda b: told(pa.Table.from_batches([b]), range(3)), "not a RecordBatch"),
    (lambda b: told(None, range(3)), "not a RecordBatch"),
    (lambda b: told(b.slice(0, 2), [True, False], [2]), "by truth values"),
    (lambda b: told(b, [0, 1.5, 2]), "TypeError"),
    (lambda b: told(b, count()), "named 4"),
    (lambda b: told(b.slice(0, 0), (), (), count()), "TypeError"),
    (lambda b: told(b.slice(0, 0), 5), "TypeError"),
    (lambda b: told(b.slice(0, 0), (), (), [(n, Halved()) for n in range(3)]), "half ?"),
    (
        lambda b: told(b.set_column(1, "who", not_utf8(b.num_rows)), range(3)),
        "Invalid UTF8",
    ),
]


def not_utf8(number: int) -> pa.Array:
    return pa.array([b"\xff\xfe"] * number, pa.binary()).view(pa.string())


@pytest.mark.parametrize(("convert", "why"), WRONG)
def test_a_batch_that_cannot_go_on_is_bad_as_a_whole(
    install: Install, convert: Callable[[pa.RecordBatch], Any], why: str
) -> None:
    install(OnBatches(convert))
    found = whys(through(STEP, rows=ROWS))
    assert sorted(found) == [0, 1, 2]
    assert all(why in each for each in found.values())


NOTHING = ConvertSpec("keep", ("nowhere",))
SEEN = pa.field("seen", pa.int64())


def seeing(batch: pa.RecordBatch) -> ConvertedBatch:
    number = batch.num_rows
    return ConvertedBatch(batch.append_column(SEEN, pa.array([7] * number)), range(number))


@pytest.mark.parametrize(
    "made", [on_records(lambda record: {**record, "seen": 7}, SEEN), OnBatches(seeing, SEEN)]
)
def test_records_without_any_column_come_as_empty_ones(install: Install, made: Any) -> None:
    install(made)
    flow = through(NOTHING, STEP, rows=ROWS)
    assert flow.rows.tolist() == [0, 1, 2]
    assert table(flow) == {"seen": [7, 7, 7]}


def some_of_them(batch: pa.RecordBatch) -> ConvertedBatch:
    """Of a batch that has no columns any more it forgets how many rows it had."""
    assert batch.num_rows == 3
    return ConvertedBatch(pa.RecordBatch.from_arrays([], names=[]), [2, 0], [1])


@pytest.mark.parametrize(
    "made",
    [
        on_records(lambda record: record),
        OnBatches(lambda batch: ConvertedBatch(batch, range(batch.num_rows))),
        OnBatches(lambda batch: ConvertedBatch(batch.take(pa.array([0, 2])), [0, 2], [1])),
        OnBatches(some_of_them),
        OnBatches(lambda batch: ConvertedBatch(batch, [0, 1])),
        OnBatches(raising(ValueError("none"))),
    ],
)
def test_no_record_is_lost_where_there_are_no_columns(install: Install, made: Any) -> None:
    install(made)
    through(NOTHING, STEP, ConvertSpec("drop", ("x",)), rows=ROWS)  # conserves, or fails


def test_a_struct_with_one_name_twice_is_refused_before_there_are_rows(install: Install) -> None:
    twice = pa.struct([("a", pa.int64()), ("a", pa.int64())])
    install(on_records(lambda record: record, ("v", twice)))
    with pytest.raises(ConvertImpossible, match="one name"):
        through(STEP, rows=ROWS)
