"""What docs/plugins.md shows can be loaded and run, and it has a section for every door."""

import re
import socket
import tomllib
from pathlib import Path
from typing import Any, NoReturn

import pytest

from penstock.api.doors import EVERY_DOOR
from penstock.api.errors import StoreSettingUnknown
from penstock.api.find import Door
from penstock.api.shape import missing_members
from penstock.api.source import ReadFailed, Source, SourceTools
from penstock.api.store import Store
from penstock.config.load import load
from penstock.model.plugin import PluginRef
from penstock.model.ranges import OffsetRange
from penstock.model.spec import DecodeSpec, FeedSpec
from penstock.model.store_spec import StoreSpec
from penstock.model.window import PartitionOffsets
from penstock.testing.contracts.codec import JsonContract
from penstock.testing.contracts.file_format import FileFormatContract
from penstock.testing.contracts.reporter import EXAMPLE
from penstock.testing.contracts.source import read, rows
from penstock.testing.sample_records import sample_records

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
HEAD = "version: 1\nlake: ./lake\nkafka: {bootstrap.servers: 'localhost:9092'}\n"


def no_spark() -> NoReturn:
    raise AssertionError("the example needs no Spark")


def section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def block(heading: str, language: str) -> str:
    found, *_ = re.findall(rf"```{language}\n(.*?)```", section(heading), flags=re.DOTALL)
    return str(found)


def run(heading: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(block(heading, "python"), names)
    return names


def feed_with(folder: Path, keys: str) -> FeedSpec:
    lines = "".join(f"    {line}\n" for line in keys.splitlines())
    (folder / "penstock.yaml").write_text(f"{HEAD}feeds:\n  a:\n    topics: [a]\n{lines}")
    return load(folder / "penstock.yaml", {}).feeds[0]


def test_the_page_names_every_group() -> None:
    groups = {door.group for door in EVERY_DOOR}
    assert groups <= set(re.findall(r"`(penstock\.\w+)`", PAGE))


HEADINGS = {
    "store": "Stores",
    "source": "Sources",
    "codec": "Codecs",
    "file format": "File formats",
    "route": "Routes",
    "partition value": "Partition values",
    "converter": "Converters",
    "fork function": "Forks",
    "price": "Prices",
    "reporter": "Reporters",
}


@pytest.mark.parametrize("door", EVERY_DOOR, ids=lambda door: door.word)
def test_every_door_has_an_example_that_its_entry_point_names(door: Door[object]) -> None:
    heading = HEADINGS[door.word]
    entries = tomllib.loads(block(heading, "toml"))["project"]["entry-points"]
    (target,) = entries[door.group].values()
    found = run(heading)[target.partition(":")[2]]
    if not door.is_maker or isinstance(found, type):
        assert any(missing_members(found, shape) == () for shape in door.shapes)
    else:
        assert callable(found)


def test_the_reporter_of_the_page_sends_every_gauge() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(20)
        made = run("Reporters")["Statsd"](port=str(server.getsockname()[1]))
        made.report(EXAMPLE)
        assert server.recv(1000).startswith(b"penstock_visible_offset.events.")
        made._socket.close()


def test_the_store_of_the_page_opens_a_lake(tmp_path: Path) -> None:
    address, settings = block("Stores", "yaml").splitlines()
    assert (address, settings) == ("lake: scratch://events", "store: {disk: /mnt/fast}")
    open_scratch = run("Stores")["open_scratch"]
    opener = PluginRef("store", "scratch", "acme:open_scratch")
    store = open_scratch(StoreSpec("scratch", "events", opener, {"disk": str(tmp_path)}))
    assert missing_members(store, Store) == ()
    store.probe("probe")
    with pytest.raises(StoreSettingUnknown, match="it has: disk"):
        open_scratch(StoreSpec("scratch", "events", opener, {"disc": "x"}))


def test_the_codec_of_the_page_keeps_the_contract(tmp_path: Path) -> None:
    codec = run("Codecs")["CODEC"]
    assert block("Codecs", "yaml").strip() == f"decode: {{format: {codec.name}}}"
    contract, payloads = JsonContract(), [b"user=ann;page=7", b"user=bob", b"a="]
    contract.test_its_traits_are_those_of_a_codec(codec, DecodeSpec(codec.name))
    contract.test_the_payloads_are_read(codec, None, payloads)
    contract.test_the_payloads_become_objects(codec, None, payloads)
    contract.test_a_broken_record_is_bad_alone(codec, None, payloads)
    contract.test_too_long_a_payload_is_bad(codec, None, payloads)
    contract.test_it_answers_alike_however_records_are_put_into_batches(codec, None, payloads)


def test_the_file_format_of_the_page_writes_what_it_reads() -> None:
    form = run("File formats")["FORMAT"]
    assert block("File formats", "yaml").strip() == f"format: {form.name}"
    contract = FileFormatContract()
    contract.test_its_names_fit_into_the_names_of_files(form)
    contract.test_rows_come_back_in_order_and_with_their_types(form)
    contract.test_the_words_of_a_file_come_back(form)


def test_the_converter_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    (step,) = feed_with(tmp_path, block("Converters", "yaml")).convert
    assert step.words == ("country",)
    country = run("Converters")["Country"](field="land")
    assert country.convert_record({"n": 1, "land": "de"}) == {"n": 1, "land": "DE"}
    assert country.convert_record({"n": 1, "land": None}) is None


def test_the_source_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    """Goal: the example is whole. Method: deliver two topics with it, and grow one of them."""
    spec = feed_with(tmp_path, block("Sources", "yaml")).source
    assert (spec.kind, spec.options["password"]) == ("tape", "${env:TAPE_PASSWORD}")
    (tmp_path / "a.tape").write_bytes(b"one\ntwo\nhal")
    (tmp_path / "b.tape").write_bytes(b"")
    (tmp_path / "other.tape").write_bytes(b"x\n")
    tools = SourceTools(no_spark, {"directory": str(tmp_path)})
    source: Source = run("Sources")["Tape"](FeedSpec(name="f", topics=("a", "b")), tools)
    assert missing_members(source, Source) == ()
    first, second = source.look().topics
    assert (first.topic, first.partitions) == ("a", {0: PartitionOffsets(0, 2)})
    assert (second.topic, second.partitions) == ("b", {0: PartitionOffsets(0, 0)})
    (tmp_path / "b.tape").write_bytes(b"three\n")
    ranges = OffsetRange("a", first.topic_id, 0, 1, 2), OffsetRange("b", second.topic_id, 0, 0, 1)
    found = rows(read(source, *ranges))
    assert [(row["topic"], row["offset"], row["value"]) for row in found] == [
        ("a", 1, b"two"),
        ("b", 0, b"three"),
    ]
    assert rows(read(source, ranges[0]))[0]["hash"] == found[0]["hash"]
    with pytest.raises(ReadFailed, match="not there any more"):
        read(source, ranges[0].with_bounds(0, 3))
    source.close()


def test_the_route_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    spec = feed_with(tmp_path, block("Routes", "yaml")).route
    tenant = run("Routes")["Tenant"](**dict(spec.call.options))
    records = sample_records([b"1", b"2", b"3"], keys=[b"acme:7", b"beta", None])
    assert tenant.datasets(records) == ["acme", "beta", ""]


def test_the_partition_value_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    _, key = feed_with(tmp_path, block("Partition values", "yaml")).partition
    assert key.path == "user_bucket"
    bucket = run("Partition values")["Bucket"](**dict(key.call.options))
    records = sample_records([b""] * 3, fields={"user.id": ["ann", 7, None]})
    texts = bucket.texts(records)
    assert texts[2] is None
    assert set(texts[:2]) <= {"0", "1", "2", "3"}


def test_the_fork_function_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    forks = feed_with(tmp_path, block("Forks", "yaml")).forks
    assert [fork.to for fork in forks] == ["gold", "platinum"]
    (call,) = {fork.call for fork in forks}
    assert call is not None
    tiers = run("Forks")["Tiers"](**dict(call.options))
    records = sample_records([b""] * 3, fields={"amount": [1, 1_000, 100_000]})
    assert tiers.datasets(records) == [[], ["gold"], ["gold", "platinum"]]
