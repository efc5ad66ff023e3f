"""A real object store that speaks S3, as a child process on loopback.

    [jar] = jar_paths("storage", cache)
    with EmbeddedObjectStore(directory, jar, java) as server:
        ...server.endpoint, server.spec("lake")...

It is s3proxy: of many that create an object, or complete uploads for it, one wins. Of many that
replace one with `If-Match` several may win, other than on S3 itself. Objects are in its memory, or,
if it `keeps` them, in files below the given directory, with the limits of names that those have.
"""

import re
import urllib.error
import urllib.request
from pathlib import Path

import boto3
from botocore.config import Config

from penstock.api.doors import STORES
from penstock.api.find import offer
from penstock.model.store_spec import StoreSpec
from penstock.testing.one_port_server import OnePortServer

READY_TIMEOUT_S = 60.0
ACCESS_KEY = "penstock-tests"
SECRET_KEY = "not-a-secret-of-anybody"  # noqa: S105  -- of a server that lives as long as a test

_JVM = (
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.net.preferIPv4Stack=true",
)
_ANSWER_TIMEOUT_S = 5.0
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


class EmbeddedObjectStore(OnePortServer):
    """One object store. After `stop` or `kill` it comes back empty, unless it `keeps`."""

    def __init__(self, directory: Path, jar: Path, java: Path, *, keeps: bool = False) -> None:
        super().__init__(directory, "the object store", "object-store.log", READY_TIMEOUT_S)
        self._jar = jar
        self._java = java
        self._keeps = keeps

    @property
    def endpoint(self) -> str:
        """Where it answers; the same as long as this instance lives."""
        return self.base_url

    @property
    def settings(self) -> dict[str, str]:
        """What `store:` of a configuration needs."""
        return {
            "endpoint": self.endpoint,
            "region": "us-east-1",
            "path_style": "true",
            "access_key": ACCESS_KEY,
            "secret_key": SECRET_KEY,
        }

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which programs of AWS, pyarrow and pandas find it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        }

    def spec(self, address: str, **settings: str) -> StoreSpec:
        """The spec of a store in `bucket/prefix`, with further settings over the usual ones."""
        return StoreSpec("s3", address, offer(STORES, "s3"), self.settings | settings)

    def make_bucket(self, name: str) -> None:
        """Create a bucket; nothing happens when it is there."""
        if not _BUCKET.fullmatch(name):
            raise ValueError(f"not the name of a bucket: {name!r}")
        client = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(s3={"addressing_style": "path"}),
        )
        if name not in {each["Name"] for each in client.list_buckets()["Buckets"]}:
            client.create_bucket(Bucket=name)

    def command(self) -> list[str]:
        """The server, with its data and its properties in its directory."""
        data = self._directory / "objects"
        data.mkdir(parents=True, exist_ok=True)
        lines = {
            "s3proxy.endpoint": self.endpoint,
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": ACCESS_KEY,
            "s3proxy.credential": SECRET_KEY,
            "s3proxy.ignore-unknown-headers": "true",  # session tokens are nothing to it
            "jclouds.provider": "filesystem-nio2" if self._keeps else "transient-nio2",
            "jclouds.filesystem.basedir": str(data),
        }
        properties = self._directory / "object-store.properties"
        properties.write_text("".join(f"{key}={word}\n" for key, word in lines.items()))
        return [str(self._java), *_JVM, "-jar", str(self._jar), "--properties", str(properties)]

    def answers(self) -> bool:
        """Whether somebody listens there who speaks S3: a request without a name is refused."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(self.endpoint, timeout=_ANSWER_TIMEOUT_S):
                return True
        except urllib.error.HTTPError as error:
            return error.code in (400, 403)
        except (OSError, ValueError):
            return False
