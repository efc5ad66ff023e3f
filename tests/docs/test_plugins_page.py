"""What docs/plugins.md shows can be loaded and run, and it has a section for every door."""

import re
import tomllib
from pathlib import Path
from typing import Any, NoReturn

import pytest

from penstock.api.doors import EVERY_DOOR
from penstock.api.shape import missing_members
from penstock.api.source import ReadFailed, Source, SourceTools
from penstock.config.load import load
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.window import PartitionOffsets
from penstock.testing.contracts.source import read, rows
from penstock.testing.sample_records import sample_records

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
HEAD = "version: 1\nlake: ./lake\nkafka: {bootstrap.servers: 'localhost:9092'}\n"


def no_spark() -> NoReturn:
    raise AssertionError("the example needs no Spark")


def section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def block(heading: str, language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", section(heading), flags=re.DOTALL)
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


@pytest.mark.parametrize(
    ("heading", "group"),
    [
        ("Sources", "penstock.sources"),
        ("Routes", "penstock.routes"),
        ("Partition values", "penstock.partitions"),
        ("Forks", "penstock.forks"),
    ],
)
def test_an_entry_point_names_a_class_of_its_example(heading: str, group: str) -> None:
    (target,) = tomllib.loads(block(heading, "toml"))["project"]["entry-points"][group].values()
    assert target.partition(":")[2] in run(heading)


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
