"""A feed whose lake lies on S3: its configuration, its process, and a copy of the lake to read.

The oracle walks directories. So every object is fetched by boto3 into a new directory, which is
then a lake like any other, for reading.
"""

import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import boto3
from botocore.config import Config

from penstock.api.doors import STORES
from penstock.api.find import offer
from penstock.api.store import Store
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.open_store import open_store
from penstock.testing.proxy.proxy_rules import ACCESS_DENIED, EXPIRED_TOKEN, Act
from tests.integration.processes import REPOSITORY, search_path

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

CONFIG = """
version: 1
lake: {scheme}://{address}
store: {{{settings}}}
kafka: {{bootstrap.servers: "{bootstrap}"}}
spark:
  spark.master: "local[2]"
  spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
feeds:
  events:
    topics: [{topic}]
    route: {{by: "field:type"}}
    time: {{field: event_time, unit: ms}}
    window: {{max_records: {max_records}}}
    quarantine: {{min_records: 1_000_000}}
    compact: {{min_files: 2}}
"""
WAIT_S = 900.0  # on a machine that others use too
SECRET = ("access_key", "secret_key", "session_token")


@dataclass(frozen=True)
class BucketWords:
    """What the requests of a store are called, in the terms of the proxy in front of it.

    `staged` is a glob of the keys by which files are staged, and discarded.
    """

    put: str
    stage: str
    publish: str
    discard: str
    is_staged: str
    staged: str
    refused: Act
    expired: Act


S3_WORDS = BucketWords(
    "PutObject",
    "UploadPart",
    "CompleteMultipartUpload",
    "AbortMultipartUpload",
    "ListParts",
    "*.parquet",  # and nothing of the probe, which comes first
    ACCESS_DENIED,
    EXPIRED_TOKEN,
)


@dataclass(frozen=True)
class S3Place:
    """Where the lakes of all cases lie. Without keys in the settings the usual chain gives them."""

    address: str
    settings: Mapping[str, str] = field(default_factory=dict)
    words: ClassVar[BucketWords] = S3_WORDS

    @classmethod
    def of_uri(cls, uri: str) -> "S3Place":
        """A bucket of a user; endpoint and region come from the environment, as for other tools."""
        given = {
            "endpoint": os.environ.get("AWS_ENDPOINT_URL", ""),
            "region": os.environ.get("AWS_REGION", os.environ.get("AWS_DEFAULT_REGION", "")),
        }
        words = {name: word for name, word in given.items() if word}
        if "endpoint" in words:
            words["path_style"] = "true"
        return cls(uri.removeprefix("s3://").rstrip("/"), words)

    def client(self) -> "S3Client":
        """A client that is not ours."""
        words = self.settings
        return boto3.client(
            "s3",
            endpoint_url=words.get("endpoint"),
            region_name=words.get("region"),
            aws_access_key_id=words.get("access_key"),
            aws_secret_access_key=words.get("secret_key"),
            config=Config(s3={"addressing_style": "path" if "path_style" in words else "auto"}),
        )

    def below(self, name: str) -> "S3Place":
        """A place of its own for one case; nothing was ever there."""
        return replace(self, address=f"{self.address}/{name}-{secrets.token_hex(4)}")

    def job(self, directory: Path, bootstrap: str, topic: str, max_records: int) -> "LakeJob":
        """A feed here."""
        return LakeJob(directory, bootstrap, topic, self, max_records)


class BucketPlace(Protocol):
    """Where lakes in buckets lie: on S3, or on a store that is tried in the same way."""

    @property
    def address(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, str]: ...

    @property
    def words(self) -> BucketWords: ...

    def below(self, name: str) -> "BucketPlace":
        """A place of its own for one case; nothing was ever there."""
        ...

    def job(self, directory: Path, bootstrap: str, topic: str, max_records: int) -> "BucketJob":
        """A feed here."""
        ...


@dataclass(frozen=True)
class BucketJob:
    """A feed in a lake in a bucket. `endpoint` is that of a proxy, if there is one in between.

    What asks for objects is done by a client that is not ours.
    """

    directory: Path
    bootstrap: str
    topic: str
    place: BucketPlace
    max_records: int = 400
    endpoint: str = ""
    scheme: ClassVar[str] = ""

    @property
    def settings(self) -> dict[str, str]:
        """What the store is told."""
        return {**self.place.settings, **({"endpoint": self.endpoint} if self.endpoint else {})}

    def store(self) -> Store:
        """The store without a proxy, for this process."""
        scheme = self.scheme
        opener = offer(STORES, scheme)
        return open_store(StoreSpec(scheme, self.place.address, opener, dict(self.place.settings)))

    def objects(self) -> dict[str, tuple[str, int]]:
        """Every visible object with tag and size."""
        raise NotImplementedError

    def uploads(self) -> list[tuple[str, str]]:
        """What is staged: whole keys, and what tells two of one key apart."""
        raise NotImplementedError

    def abort_uploads(self) -> int:
        """Take all that is staged away, as a rule of the bucket may; how many there were."""
        raise NotImplementedError

    def mirror(self) -> Path:
        """A copy of the lake in a new directory."""
        raise NotImplementedError

    def write(self) -> Path:
        """Write the configuration; secrets stand in the environment of the process."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / "penstock.yaml"
        words = {
            name: f"${{env:CERTIFY_{name.upper()}}}" if name in SECRET else word
            for name, word in self.settings.items()
        }
        settings = ", ".join(f'{name}: "{word}"' for name, word in words.items())
        path.write_text(
            CONFIG.format(
                scheme=self.scheme,
                address=self.place.address,
                settings=settings.replace('"true"', "true"),
                bootstrap=self.bootstrap,
                topic=self.topic,
                max_records=self.max_records,
            )
        )
        return path

    def environment(self) -> dict[str, str]:
        """With the secrets that the configuration refers to."""
        found = {f"CERTIFY_{name.upper()}": self.settings.get(name, "") for name in SECRET}
        return {**os.environ, "PYTHONPATH": search_path(), **found}

    def picture(self) -> dict[str, tuple[str, int]]:
        """The data files among them."""
        return {key: facts for key, facts in self.objects().items() if key.endswith(".parquet")}


@dataclass(frozen=True)
class LakeJob(BucketJob):
    """A feed in a lake on S3."""

    place: S3Place
    scheme: ClassVar[str] = "s3"

    def objects(self) -> dict[str, tuple[str, int]]:
        """As boto3 lists them."""
        bucket, _, prefix = self.place.address.partition("/")
        pages = self.place.client().get_paginator("list_objects_v2")
        return {
            each["Key"].removeprefix(f"{prefix}/"): (each["ETag"], each["Size"])
            for page in pages.paginate(Bucket=bucket, Prefix=f"{prefix}/")
            for each in page.get("Contents", [])
        }

    def uploads(self) -> list[tuple[str, str]]:
        """Open uploads of the lake: whole keys and ids."""
        bucket, _, prefix = self.place.address.partition("/")
        pages = self.place.client().get_paginator("list_multipart_uploads")
        return [
            (each["Key"], each["UploadId"])
            for page in pages.paginate(Bucket=bucket, Prefix=f"{prefix}/")
            for each in page.get("Uploads", [])
        ]

    def abort_uploads(self) -> int:
        """What a lifecycle rule does; how many there were."""
        bucket = self.place.address.partition("/")[0]
        open_now = self.uploads()
        for key, upload in open_now:
            self.place.client().abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload)
        return len(open_now)

    def mirror(self) -> Path:
        """A copy of the lake in a new directory."""
        bucket, _, prefix = self.place.address.partition("/")
        copy = Path(tempfile.mkdtemp(prefix="mirror-", dir=self.directory))
        client = self.place.client()
        for key in self.objects():
            (copy / key).parent.mkdir(parents=True, exist_ok=True)
            client.download_file(bucket, f"{prefix}/{key}", str(copy / key))
        return copy


class LakeChild:
    """A plain `penstock` of its own: nothing inside it knows that it is tried."""

    def __init__(self, job: BucketJob, *words: str) -> None:
        config = job.write()
        self.log = job.directory / "child.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "penstock", *words, "--config", str(config)],
                cwd=REPOSITORY,
                env=job.environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def end(self, within_s: float = WAIT_S) -> int:
        """Wait for its end; whatever is left of its group is killed then."""
        try:
            return self.process.wait(within_s)
        finally:
            self.kill()

    def kill(self) -> None:
        """kill -9 of the group."""
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
        self.process.wait(90)

    def signal(self, number: int) -> None:
        """To the whole group: Python and JVM."""
        os.killpg(self.process.pid, number)

    def said(self) -> str:
        """The end of what it printed."""
        return self.log.read_text(errors="replace")[-1500:]


@contextmanager
def lake_child(job: BucketJob, *words: str) -> Iterator[LakeChild]:
    """A process that does not outlive the block."""
    running = LakeChild(job, *words)
    try:
        yield running
    finally:
        running.kill()
