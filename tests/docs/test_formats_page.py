"""What docs/formats.md shows reads a directory across versions."""

import io
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.api.doors import FORMATS
from penstock.api.file_format import WriteOptions
from penstock.api.find import find
from penstock.config.load import load
from penstock.model.spec import FeedSpec, RouteSpec
from tests.helpers.shredding import an_event, learned, shred

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")


def block_with(language: str, words: str) -> str:
    """The one block of the page in a language that has these words."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
    (found,) = [block for block in blocks if words in block]
    return str(found)


def test_pyarrow_reads_the_columns_of_all_files_as_the_page_says(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"n": 1, "who": {"name": "x"}, "tags": [{"a": 1}]},
        {"n": 2, "who": {"name": "y", "age": 3}, "tags": [{"a": 1, "b": "z"}], "new": 2.5},
    ]
    for number, row in enumerate(rows):
        directory = tmp_path / f"day=2026-11-1{number}"
        directory.mkdir()
        pq.write_table(pa.Table.from_pylist([row]), directory / "0.parquet")
    block = block_with("python", "def all_columns")
    names: dict[str, Any] = {}
    exec(block, names)
    found = names["all_columns"](str(tmp_path)).to_table().to_pylist()
    assert [row["new"] for row in found] == [None, 2.5]
    assert found[0]["who"] == {"name": "x", "age": None}
    assert found[1]["tags"] == [{"a": 1, "b": "z"}]
    assert [row["day"] for row in found] == ["2026-11-10", "2026-11-11"]


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dataset on disk in which an id was a number first, and a text or nothing later."""
    feed = FeedSpec(name="events", route=RouteSpec("field", "type"))
    known = learned(an_event("order", customer_id=1))
    ids: list[object] = [17, "C-18", None, "C-20", 5058740000000000017]
    done = shred(feed, [an_event("order", customer_id=each) for each in ids], known)
    for file in done.report.files:
        done.store.publish(file.handle)
        target = tmp_path / "lake" / file.handle.final
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(done.store.read(file.handle.final) or b"")
    monkeypatch.chdir(tmp_path)


WANTED = ["17", "C-18", None, "C-20", "5058740000000000017"]


@pytest.mark.usefixtures("orders")
def test_duckdb_reads_a_field_from_its_column_and_from_the_rest() -> None:
    found = duckdb.connect().execute(block_with("sql", "_rest")).fetchall()
    assert [customer for _, customer in found] == WANTED


@pytest.mark.usefixtures("orders")
def test_pandas_reads_a_field_from_its_column_and_from_the_rest() -> None:
    names: dict[str, Any] = {}
    exec(block_with("python", "import pandas"), names)
    assert list(names["orders"]["customer_id"]) == WANTED


def test_the_recipe_for_types_is_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "penstock.yaml").write_text(block_with("yaml", "customer_id: string"))
    [feed] = load(tmp_path / "penstock.yaml", {}).feeds
    assert dict(feed.decode.types)["items[].sku"] == "string"
    assert feed.datasets[0].types == (("customer_id", "int64"),)


def test_the_line_of_json_on_the_page_is_what_is_written() -> None:
    at = datetime(2026, 11, 15, 7, 5, tzinfo=UTC)
    row = {
        "type": "order", "n": 7, "price": Decimal("12.50"), "at": at, "_rest": None,
        "_topic": "events", "_partition": 0, "_offset": 41,
        "_timestamp": at + timedelta(milliseconds=1_250),
    }  # fmt: skip
    schema = pa.schema(
        [("type", pa.string()), ("n", pa.int64()), ("price", pa.decimal128(9, 2)),
         ("at", pa.timestamp("us", "UTC")), ("_rest", pa.string()), ("_topic", pa.string()),
         ("_partition", pa.int32()), ("_offset", pa.int64()),
         ("_timestamp", pa.timestamp("ms", "UTC"))]
    )  # fmt: skip
    form, stream = find(FORMATS, "jsonl"), io.BytesIO()
    writer = form.begin(stream, schema, WriteOptions("none"))
    writer.write(pa.Table.from_pylist([row], schema=schema))
    writer.finish()
    assert block_with("json", "_offset").encode() == stream.getvalue()
