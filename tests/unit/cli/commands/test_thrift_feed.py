"""A feed in Thrift by its commands: what a sample shows, a run delivers and the commands tell."""

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from penstock.cli.main import main
from penstock.config.load import load
from penstock.datapath.codec.thrift.idl.fixed_struct import fixed_struct
from penstock.datapath.codec.thrift.types import ThriftFile
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.runner import Runner, RunSpec
from penstock.ports.source.open_source import open_source
from penstock.ports.store.local.local_store import LocalStore
from tests.helpers.clock import Clock
from tests.helpers.installed_packages import look_for_packages_again
from tests.helpers.listed_plugin import offer
from tests.helpers.thrift_worlds import written

FILE = """version: 1
lake: ./lake
feeds:
  shop:
    topics: [shop]
    source: {plugin: listed}
    decode: {format: thrift, schema: idl/shop.thrift, message: Click, protocol: compact}
    route: {by: schema}
    time: {field: at, unit: s}
    quarantine: {max_ratio: 0.9}
"""
SHOP = 'include "shared.thrift"\nstruct Click { 1: required i64 at, 2: shared.Kind kind }\n'
SHARED = "enum Kind { VIEW, BUY }\n"
FIRST_S = 20_000 * 86_400  # in 2024


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    cluster = offer(tmp_path, monkeypatch)
    cluster.create_topic("shop", partitions=1)
    (tmp_path / "idl").mkdir()
    (tmp_path / "idl" / "shop.thrift").write_text(SHOP)
    (tmp_path / "idl" / "shared.thrift").write_text(SHARED)
    found = tmp_path / "penstock.yaml"
    found.write_text(FILE)
    (feed,) = load(found, {}).feeds
    tree = msgspec.json.decode(fixed_struct(feed.decode).text, type=ThriftFile)
    good = [written(tree, {"at": FIRST_S + n, "kind": n % 2}) for n in range(6)]
    cluster.append("shop", 0, *good, good[0][:-1], good[0] + b"\0", written(tree, {"kind": 0}))
    yield found
    look_for_packages_again()


def test_a_sample_a_run_and_the_commands_agree(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--sample", "100", "--output", "json", "-c", str(file)]) == 0
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    (found,) = [line for line in lines if line["what"] == "feed shop"]
    assert [(row["dataset"], row["rows"]) for row in found["types"]] == [("Click", 6)]
    told = {row["reason"]: row["records"] for row in found["would_quarantine"]}
    assert told == {"TRUNCATED": 1, "TRAILING_BYTES": 1, "MISSING_FIELD": 1}

    tools = FeedTools(
        lambda feed: open_source(feed, None),  # type: ignore[arg-type]
        LocalStore(file.parent / "lake"),
        Clock().around(),
    )
    once = RunSpec(once=True, take_over=True)
    assert Runner(load(file, {}).feeds, tools, lambda _: None, lambda: False, once).run() == 0
    (data,) = (file.parent / "lake" / "shop" / "Click").rglob("*.parquet")
    assert pq.ParquetFile(data).read().column("kind").to_pylist() == ["VIEW", "BUY"] * 3

    assert main(["schema", "show", "shop/Click", "-c", str(file)]) == 0
    shown = capsys.readouterr().out
    assert [line.split() for line in shown.splitlines()[2:4]] == [
        ["at", "no", "bigint"],
        ["kind", "yes", "string"],
    ]
    assert main(["status", "shop", "--config-of", "1-1", "-c", str(file)]) == 0
    words = [line.strip() for line in capsys.readouterr().out.splitlines()]
    start = words.index('schema: "decode.schema"  # a file with this content:')
    assert words[start + 1 : start + 5] == [
        '#   include "shared.thrift"',
        "#   struct Click { 1: required i64 at, 2: shared.Kind kind }",
        "# which includes shared.thrift, a file with this content:",
        "#   enum Kind { VIEW, BUY }",
    ]
    assert "protocol: compact" in words


def test_a_mistake_in_the_file_is_told_before_anything_is_read(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file.parent / "idl" / "shared.thrift").write_text("enum Kind { VIEW BUY = x }")
    assert main(["check", "-c", str(file)]) == 2
    captured = capsys.readouterr()
    assert "shared.thrift, line 1: found `x`, wanted a whole number" in captured.out + captured.err
