"""Plug-ins that do what nobody thought of: each record is converted, filtered or bad still."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from penstock.model.convert import ConvertSpec
from penstock.shape import plugins
from penstock.shape.flow import Flow
from tests.unit.test_convert import table, through

STEP = ConvertSpec("plugin", words=("wild",))
ROWS = [{"n": 0, "who": "zero"}, {"n": 1, "who": "one"}, {"n": 2, "who": "two"}]

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
