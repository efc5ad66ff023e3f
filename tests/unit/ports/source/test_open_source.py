"""A source is found by the name of its kind, ours and those of other packages alike."""

from pathlib import Path
from typing import NoReturn

import pytest

from penstock.api.errors import PluginBroken, PluginUnknown
from penstock.api.source import ExportsLag, HashesLastRecords, ResolvesStarts, SourceTools
from penstock.model.spec import KAFKA, FeedSpec, SourceSpec
from penstock.ports.source.open_source import open_source
from tests.helpers.installed_packages import install_package

FEED = FeedSpec(name="events", topics=("events",))


def feed_from(kind: str) -> FeedSpec:
    return FeedSpec(name="events", topics=("events",), source=SourceSpec(kind))


def no_spark_yet() -> NoReturn:
    raise AssertionError("a source is opened before Spark is up")


TOOLS = SourceTools(no_spark_yet, {"bootstrap.servers": "nowhere:1"})


def test_kafka_is_opened_without_waiting_for_spark_and_can_do_all_that_a_source_may() -> None:
    source = open_source(FEED, TOOLS)
    assert source.kind == KAFKA
    assert isinstance(source, ExportsLag)
    assert isinstance(source, HashesLastRecords)
    assert isinstance(source, ResolvesStarts)
    source.close()


def test_a_kind_that_nobody_offers_is_told_with_those_that_there_are() -> None:
    with pytest.raises(PluginUnknown, match=r"source called 'kafak'.*did you mean 'kafka'"):
        open_source(feed_from("kafak"), TOOLS)


MODULE = """
class Half:
    kind = "half"
    def __init__(self, feed, tools): ...
    def look(self): ...
    def close(self): ...

class Whole(Half):
    kind = "whole"
    def read(self, request, task): ...
"""


def test_a_source_of_another_package_has_all_that_a_source_must_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers = {"half": "our_sources:Half", "whole": "our_sources:Whole"}
    install_package(tmp_path, "our-sources", {"penstock.sources": offers}, {"our_sources": MODULE})
    monkeypatch.syspath_prepend(tmp_path)
    assert open_source(feed_from("whole"), TOOLS).kind == "whole"
    with pytest.raises(PluginBroken, match="it has no `read`"):
        open_source(feed_from("half"), TOOLS)
