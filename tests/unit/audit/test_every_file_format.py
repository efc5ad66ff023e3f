"""Lakes of every file format that is built in: written, read by others, audited, and replayed.

Goal: nobody but a format knows what it is. Method: the real writer, the real commands, and readers
of others; the files are doctored, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.api.doors import FORMATS
from penstock.api.find import find, offers
from penstock.cli.main import main
from penstock.model.spec import FeedSpec, LakeSpec, RouteSpec, TimeSpec
from penstock.runtime.parallel import in_this_process
from tests.helpers.deep_receipts import receipt
from tests.helpers.doctored_lakes import DoctoredLake, events
from tests.helpers.files_by_others import READABLE, rows_of_files
from tests.simulator.kafka import TOPIC
from tests.simulator.programs import FEED

NAMES = tuple(each.name for each in offers(FORMATS))
CHOSEN = {
    "text-escaped": "format: text\n    text: {line_ends: escape}",
    "sequencefile-msgpack": "format: sequencefile\n    sequencefile: {key: msgpack}",
}
MENDED = """\
version: 1
lake: ./lake
kafka: {{bootstrap.servers: "nowhere:1"}}
feeds:
  feed:
    topics: [events]
    route: {{by: "field:type"}}
    time: {{field: at, unit: s, missing: 2026-01-01}}
    {}
    compression: {}
  other: {{topics: [events]}}
"""
UNTIMED = b'{"type": "click", "n": 1000, "tags": {"a": [1.5, null]}}'


@pytest.fixture(params=NAMES)
def lake(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> DoctoredLake:
    """Two windows of clicks and orders, broken records, and one without a time."""
    form = find(FORMATS, request.param)
    others = {"avro": "deflate"}  # what fastavro reads without packages of others
    compression = others.get(form.name, next(iter(form.suffixes)))
    spec = FeedSpec(
        name=FEED,
        topics=(TOPIC,),
        route=RouteSpec("field", "type"),
        time=TimeSpec(field="at", unit="s"),
        format=form.name,
        compression=compression,
    )
    found = DoctoredLake(tmp_path, [*events(99), UNTIMED], max_records=50, spec=spec)
    words = CHOSEN.get(form.name, f"format: {form.name}")
    found.config.write_text(MENDED.format(words, compression))
    found.plain_tools(monkeypatch)
    return found


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in for Spark."""

    @contextmanager
    def opened(spec: LakeSpec) -> Iterator[Any]:
        yield in_this_process

    monkeypatch.setattr("penstock.cli.commands.errors_replay.parallel_on_spark", opened)


def data(lake: DoctoredLake) -> list[Path]:
    """The data files, each with an ending of the lake's format."""
    found = lake.files(FEED)
    assert found
    endings = find(FORMATS, lake.spec.format).endings
    assert all(file.name.endswith(endings) for file in found)
    return found


def numbers(lake: DoctoredLake) -> list[tuple[int, int]]:
    """Offset and number of every row, as others read them; lines have no offsets."""
    offsets = {row["n"]: row["n"] for row in rows_of_files(data(lake))} | {1000: 99}
    return sorted((row.get("_offset", offsets[row["n"]]), row["n"])
                  for row in rows_of_files(data(lake)))  # fmt: skip


GOOD = [(number, number) for number in range(99) if number % 10 != 7]


def test_others_read_every_row_once_with_its_position(lake: DoctoredLake) -> None:
    rows = rows_of_files(data(lake))
    assert numbers(lake) == GOOD
    assert {(row["_topic"], row["_partition"]) for row in rows} == {("events", 0)}
    assert all(row["type"] == ("click", "order")[row["n"] % 2] for row in rows)


def test_a_deep_audit_reads_every_row(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    found = receipt(lake, capsys)
    assert (found["verdict"], found["differences"], found["offsets"]) == ("ok", [], 100)
    assert found["deep"]["rows"] == found["written"] + found["quarantined"] == 100


def test_a_changed_file_is_a_difference_that_names_it(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data(lake)[0]
    whole = file.read_bytes()
    for changed in (whole[:-1], whole[: len(whole) // 2], b"", whole + whole,
                    whole[:99] + bytes([whole[99] ^ 255]) + whole[100:]):  # fmt: skip
        file.write_bytes(changed)
        differences = receipt(lake, capsys, code=4)["differences"]
        assert [each["file"] for each in differences if each["file"]] == [lake.key(file)]


def test_a_record_is_found_in_its_file(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("where", FEED, "events/0/42", "--output", "json")) == 0
    found = msgspec.json.decode(capsys.readouterr().out)
    assert "42" in str(found)
    assert "'fate': 'delivered'" in str(found)
    named = [file for file in data(lake) if lake.key(file) in str(found)]
    assert 42 in [row["n"] for row in rows_of_files(named)]
    tells_none = find(FORMATS, lake.spec.format).traits.positions == "by count"
    assert len(named) == (2 if tells_none else 1), "lines do not tell of which range they are"


def test_a_replay_delivers_what_is_whole_now(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("errors", "replay", FEED, "--author", "ann")) == 0
    assert capsys.readouterr().out.startswith("1 record of feed is delivered")
    assert numbers(lake) == [*GOOD, (99, 1000)]
    assert receipt(lake, capsys)["verdict"] == "ok"


def test_every_built_in_format_is_one_that_others_read() -> None:
    for name in NAMES:
        assert set(find(FORMATS, name).endings) <= set(READABLE)
