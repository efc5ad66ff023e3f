"""A feed whose lake is on an object store, and its copy on this disk for the oracle to count.

Requests pass a proxy, which can hold uploads: then all tasks are in the middle of a file.
"""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from penstock.testing.object_store_server import ACCESS_KEY, SECRET_KEY
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import Hold, Rule
from tests.helpers.object_stores import BUCKET
from tests.integration.processes import wait_for

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

HELD = "in mid-file"
SECRETS = {"LAKE_ACCESS_KEY": ACCESS_KEY, "LAKE_SECRET_KEY": SECRET_KEY}
CONFIG = """
version: 1
lake: s3://{bucket}/{word}
store:
  endpoint: {endpoint}
  region: us-east-1
  path_style: "true"
  access_key: "${{env:LAKE_ACCESS_KEY}}"
  secret_key: "${{env:LAKE_SECRET_KEY}}"
kafka: {{bootstrap.servers: "{bootstrap}"}}
spark:
  spark.master: "{master}"
  spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
  spark.executor.extraJavaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
  spark.driver.host: 127.0.0.1
  spark.driver.bindAddress: 127.0.0.1
  spark.executor.memory: 700m
{spark}feeds:
  events:
    topics: [{topic}]
    route: {{by: "field:type"}}
    time: {{field: event_time, unit: ms}}
    window: {{max_records: 5_000_000, every: 1s}}
    quarantine: {{min_records: 1_000_000}}
"""


@dataclass(frozen=True)
class S3Job:
    """A configuration in a directory of the driver, for a lake below a prefix."""

    directory: Path
    proxy: FaultProxy
    bootstrap: str
    word: str
    master: str
    spark: str = ""

    def write(self) -> Path:
        """Write the configuration; secrets are only named in it."""
        path = self.directory / "penstock.yaml"
        words = {"word": self.word, "topic": self.word, "bootstrap": self.bootstrap}
        text = CONFIG.format(
            bucket=BUCKET, endpoint=self.proxy.url, master=self.master, spark=self.spark, **words
        )
        path.write_text(text)
        return path

    def hold_uploads(self) -> None:
        """From now on no part of a data file arrives."""
        self.proxy.rules.add(Rule(Hold(HELD), "UploadPart", f"{self.word}/events/*", times=None))

    def let_uploads_go(self) -> None:
        """Those that wait arrive now, also if nobody waits for their replies any more."""
        self.proxy.rules.clear()
        self.proxy.release(HELD)

    def wait_until_held(self, running: "Driver") -> None:
        """Until a task has sent a part that waits."""
        wait_for(lambda: self._is_held() or running.process.poll() is not None, "an upload", 300)
        assert running.process.poll() is None, running.said()

    def _is_held(self) -> bool:
        try:
            self.proxy.waiting.wait_for(HELD, timeout_s=0.1)
        except TimeoutError:
            return False
        return True

    def copy_lake(self, into: Path) -> Path:
        """Every object of the lake as a file, fetched by boto3 alone."""
        for key in self._keys():
            path = into / key.removeprefix(f"{self.word}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self._client().get_object(Bucket=BUCKET, Key=key)["Body"].read())
        return into

    def has_journal_of_windows(self) -> bool:
        """Whether anything was decided after the feed was bound and started."""
        return any("/done/" in key for key in self._keys())

    def _keys(self) -> list[str]:
        pages = self._client().get_paginator("list_objects_v2")
        found = pages.paginate(Bucket=BUCKET, Prefix=f"{self.word}/")
        return [each["Key"] for page in found for each in page.get("Contents", [])]

    def _client(self) -> "S3Client":
        return boto3.client(
            "s3",
            endpoint_url=self.proxy.url,
            region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(s3={"addressing_style": "path"}),
        )


class Driver:
    """A penstock process in the driver's directory, which ends with the block."""

    def __init__(self, job: S3Job, *words: str) -> None:
        config = job.write()
        self.log = job.directory / f"{words[0]}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "penstock", *words, "--config", str(config)],
                cwd=job.directory,
                env={**os.environ, **SECRETS},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def __enter__(self) -> "Driver":
        return self

    def __exit__(self, *_of: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(90)

    def end(self, within_s: float = 300.0) -> str:
        """Wait for its end; what was wrong with it, or nothing."""
        code = self.process.wait(within_s)
        return "" if code == 0 else f"ended with {code}: {self.said()[-300:]}"

    def said(self) -> str:
        """All that it printed."""
        return self.log.read_text(errors="replace")
