"""A person with a configuration who types commands."""

import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.cli.main import main
from penstock.config.load import load
from penstock.testing.broker import EmbeddedKafka
from tests.integration.lakes import deep_fold, positions_in, run_once

CONFIG = """
version: 1
lake: ./lake
kafka: {{bootstrap.servers: "{bootstrap}"{more}}}
spark: {{spark.master: "local[2]"}}
feeds:
  events:
    topics: [{topics}]
    route: {{by: "field:type"}}
    time: {{field: event_time, unit: ms}}
    quarantine: {{min_records: 100000}}
"""

Rows = list[dict[str, object]]


class Desk:
    """A person with a configuration, in a directory of their own."""

    def __init__(self, here: Path, bootstrap: str, topics: str, more: str = "") -> None:
        self.config = here / "penstock.yaml"
        self.config.write_text(CONFIG.format(bootstrap=bootstrap, topics=topics, more=more))
        self.lake = here / "lake"
        self._capture: pytest.CaptureFixture[str] | None = None

    def watched_by(self, capture: pytest.CaptureFixture[str]) -> "Desk":
        self._capture = capture
        return self

    def types(self, *words: str) -> tuple[int, Rows, str]:
        """A command with `--output json`: exit code, rows, and what stands on stderr."""
        assert self._capture is not None
        self._capture.readouterr()
        code = main([*words, "-c", str(self.config), "--output", "json"])
        out, err = self._capture.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], err

    def runs(self, spark: SparkSession, kafka: EmbeddedKafka) -> tuple[int, list[str]]:
        return run_once(spark, kafka, self.lake, load(self.config, {}).feeds[0])

    def positions(self) -> Counter[tuple[int, int]]:
        data, refused = positions_in(self.lake, deep_fold(self.lake))
        return data + refused

    def last_body(self) -> object:
        """What the newest entry decides, and that nobody claimed the feed for it."""
        newest = sorted(self.lake.glob("_penstock/events/journal/*/*.json"))[-1]
        return json.loads(newest.read_bytes())["body"]
