"""A feed of a cluster without a shared file system, and a copy of its lake to count.

What lies between hosts and the store can hold what tasks send: then all are in the middle of a
file.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import boto3
from botocore.config import Config
from hdfs_native import Client

from penstock.testing.hdfs_relay import HdfsRelay, RelayRule
from penstock.testing.object_store_server import ACCESS_KEY, SECRET_KEY
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import Hold, Rule
from tests.certify.case import Run
from tests.helpers.object_stores import BUCKET
from tests.integration.processes import wait_for

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

HELD = "in mid-file"
SECRETS = {"LAKE_ACCESS_KEY": ACCESS_KEY, "LAKE_SECRET_KEY": SECRET_KEY}
PATIENCE_S = 900.0  # beside other work a first window, with two compilations, takes minutes
MOST_HELD = 10_000
CONFIG = """
version: 1
lake: {lake}
store: {{{store}}}
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


@dataclass(frozen=True, kw_only=True)
class ClusterJob:
    """A configuration in a directory of the driver, for a lake of its own.

    Executors need `package` of `extra`, and must not keep any of the `secrets`.
    """

    directory: Path
    bootstrap: str
    word: str
    master: str
    spark: str = ""
    package: ClassVar[str] = ""
    extra: ClassVar[str] = ""
    secrets: ClassVar[tuple[str, ...]] = ()

    @property
    def lake(self) -> str:
        """Its address."""
        raise NotImplementedError

    @property
    def store(self) -> str:
        """Its settings."""
        return ""

    def hold_uploads(self) -> None:
        """From now on no data file gets whole."""
        raise NotImplementedError

    def let_uploads_go(self) -> None:
        """Those that wait arrive now, also if nobody waits for their replies any more."""
        raise NotImplementedError

    def is_held(self) -> bool:
        """Whether a task has sent something that waits."""
        raise NotImplementedError

    def contents(self) -> Iterable[tuple[str, bytes]]:
        """Every file of the lake, by a client that is not ours."""
        raise NotImplementedError

    def write(self) -> Path:
        """Write the configuration; secrets are only named in it."""
        path = self.directory / "penstock.yaml"
        path.write_text(
            CONFIG.format(
                lake=self.lake,
                store=self.store,
                bootstrap=self.bootstrap,
                master=self.master,
                spark=self.spark,
                topic=self.word,
            )
        )
        return path

    def wait_until_held(self, running: "Driver") -> None:
        """Until a task is in the middle of a file."""
        wait_for(
            lambda: self.is_held() or running.process.poll() is not None, "an upload", PATIENCE_S
        )
        assert running.process.poll() is None, running.said()

    def copy_lake(self, into: Path) -> Path:
        """Every file of the lake in a directory."""
        for key, content in self.contents():
            path = into / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return into

    def has_journal_of_windows(self) -> bool:
        """Whether anything was decided after the feed was bound and started."""
        return any("/done/" in key for key, _ in self.contents())


@dataclass(frozen=True, kw_only=True)
class S3Job(ClusterJob):
    """On an object store, behind a proxy."""

    proxy: FaultProxy
    package: ClassVar[str] = "boto3"
    extra: ClassVar[str] = "s3"
    secrets: ClassVar[tuple[str, ...]] = (SECRET_KEY,)

    @property
    def lake(self) -> str:
        """A prefix of the bucket."""
        return f"s3://{BUCKET}/{self.word}"

    @property
    def store(self) -> str:
        """That of the proxy."""
        return (
            f'endpoint: "{self.proxy.url}", region: us-east-1, path_style: "true", '
            'access_key: "${env:LAKE_ACCESS_KEY}", secret_key: "${env:LAKE_SECRET_KEY}"'
        )

    def hold_uploads(self) -> None:
        """Parts of data files."""
        self.proxy.rules.add(Rule(Hold(HELD), "UploadPart", f"{self.word}/events/*", times=None))

    def let_uploads_go(self) -> None:
        """All of them."""
        self.proxy.rules.clear()
        self.proxy.release(HELD)

    def is_held(self) -> bool:
        """Whether the proxy has one."""
        try:
            self.proxy.waiting.wait_for(HELD, timeout_s=0.1)
        except TimeoutError:
            return False
        return True

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """As boto3 fetches them."""
        client = self._client()
        pages = client.get_paginator("list_objects_v2").paginate(
            Bucket=BUCKET, Prefix=f"{self.word}/"
        )
        for key in [each["Key"] for page in pages for each in page.get("Contents", [])]:
            content = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
            yield key.removeprefix(f"{self.word}/"), content

    def _client(self) -> "S3Client":
        return boto3.client(
            "s3",
            endpoint_url=self.proxy.url,
            region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(s3={"addressing_style": "path"}),
        )


@dataclass(frozen=True, kw_only=True)
class HdfsClusterJob(ClusterJob):
    """On HDFS, behind a relay: what is held is the request for a block of a staged file."""

    relay: HdfsRelay
    url: str
    package: ClassVar[str] = "hdfs_native"
    extra: ClassVar[str] = "hdfs"

    @property
    def lake(self) -> str:
        """A directory, through the relay."""
        return f"hdfs://{self.relay.authority}{self.root}"

    @property
    def root(self) -> str:
        """The path of the lake."""
        return f"/cluster/{self.word}"

    def hold_uploads(self) -> None:
        """Blocks of staged files."""
        staged = f"{self.root}/_penstock/events/staging/"
        self.relay.rules.append(RelayRule("addBlock", staged, "hold", times=MOST_HELD))

    def let_uploads_go(self) -> None:
        """All of them; nothing more is held."""
        self.relay.let_go()

    def is_held(self) -> bool:
        """Whether the relay has one."""
        return self.relay.held > 0

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """As the client library reads them from the name node itself."""
        client = Client(self.url)
        try:
            found = list(client.list_status(self.root, recursive=True))
        except FileNotFoundError:
            return
        for each in found:
            if not each.isdir:
                yield each.path.removeprefix(f"{self.root}/"), client.read(each.path).readall()


@contextmanager
def on_s3(run: Run) -> Iterator[ClusterJob]:
    """A job whose lake is on the object store of all cases."""
    parts = run.parts
    yield S3Job(
        directory=run.directory,
        bootstrap=parts.kafka.bootstrap,
        word=run.word,
        master=parts.hosts.master,
        proxy=parts.proxy,
    )


@contextmanager
def on_hdfs(run: Run) -> Iterator[ClusterJob]:
    """A job whose lake is on HDFS, with a relay of its own."""
    parts = run.parts
    with HdfsRelay(parts.hdfs.port) as relay:
        yield HdfsClusterJob(
            directory=run.directory,
            bootstrap=parts.kafka.bootstrap,
            word=run.word,
            master=parts.hosts.master,
            relay=relay,
            url=parts.hdfs.url,
        )


class Driver:
    """A penstock process in the driver's directory, which ends with the block."""

    def __init__(self, job: ClusterJob, *words: str) -> None:
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

    def end(self, within_s: float = PATIENCE_S) -> str:
        """Wait for its end; what was wrong with it, or nothing."""
        code = self.process.wait(within_s)
        return "" if code == 0 else f"ended with {code}: {self.said()[-300:]}"

    def said(self) -> str:
        """All that it printed."""
        return self.log.read_text(errors="replace")
