"""A real object store that speaks S3, as a child process on loopback.

    [jar] = jar_paths("storage", cache)
    with EmbeddedObjectStore(directory, jar, java) as server:
        ...server.endpoint, server.spec("lake")...

It is s3proxy: of many that create an object, or complete uploads for it, one wins. Of many that
replace one with `If-Match` several may win, other than on S3 itself. Objects are in its memory, or,
if it `keeps` them, in files below the given directory, with the limits of names that those have.
"""

import random
import re
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

import boto3
from botocore.config import Config

from penstock.api.doors import STORES
from penstock.api.find import offer
from penstock.model.store_spec import StoreSpec
from penstock.testing.servers import LOOPBACK, GuardedProcess, ServerFailed, free_ports

READY_TIMEOUT_S = 60.0
ACCESS_KEY = "penstock-tests"
SECRET_KEY = "not-a-secret-of-anybody"  # noqa: S105  -- of a server that lives as long as a test

_JVM = (
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.net.preferIPv4Stack=true",
)
_PORT_ATTEMPTS = 3
_POLL_S = 0.1
_ANSWER_TIMEOUT_S = 5.0
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


class EmbeddedObjectStore:
    """One object store. Not thread-safe; clients may be as many as they like.

    After `stop`, `kill` and `start` it has the same address; what it held is there only if `keeps`.
    """

    def __init__(self, directory: Path, jar: Path, java: Path, *, keeps: bool = False) -> None:
        self._directory = directory
        self._jar = jar
        self._java = java
        self._keeps = keeps
        self._port = 0
        self._running: GuardedProcess | None = None

    @property
    def endpoint(self) -> str:
        """Where it answers; the same as long as this instance lives."""
        return f"http://{LOOPBACK}:{self._port}"

    @property
    def log(self) -> Path:
        """The file with all that it has printed."""
        return self._directory / "object-store.log"

    @property
    def pids(self) -> list[int]:
        """Every process that belongs to it now, its guard included."""
        return [] if self._running is None else list(self._running.pids)

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

    def start(self) -> None:
        """Start it and return when it answers. Bounded.

        The first time a port is probed, so another process can take it before we do; then another
        one is tried. Later it is the same one or none.
        """
        if self._running is not None:
            raise RuntimeError("this object store runs already")
        attempts = 1 if self._port else _PORT_ATTEMPTS
        for attempt in range(attempts):
            before = self._port
            if not before:
                [self._port] = free_ports(1, random.Random())  # noqa: S311 -- not a secret
            try:
                self._launch()
                self._await_ready()
                return
            except ServerFailed as failure:
                self.kill()
                self._port = before
                if not failure.port_was_taken or attempt + 1 == attempts:
                    raise
            except BaseException:
                self.kill()
                raise

    def stop(self) -> None:
        """End it, politely first. Nothing of ours runs afterwards. Safe to repeat."""
        if self._running is not None:
            self._running.stop()
            self._running = None

    def kill(self) -> None:
        """End it at once, as a power cut would. Safe to repeat."""
        if self._running is not None:
            self._running.kill()
            self._running = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _launch(self) -> None:
        data = self._directory / "objects"
        data.mkdir(parents=True, exist_ok=True)
        self.log.unlink(missing_ok=True)
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
        command = [str(self._java), *_JVM, "-jar", str(self._jar), "--properties", str(properties)]
        self._running = GuardedProcess(command, self._directory, self.log)

    def _await_ready(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not self._answers():
            code = None if self._running is None else self._running.exit_code
            if code is not None:
                raise ServerFailed(f"The object store ended ({code})", self.log)
            if time.monotonic() > deadline:
                why = f"The object store was not ready after {READY_TIMEOUT_S:.0f} s"
                raise ServerFailed(why, self.log)
            time.sleep(_POLL_S)

    def _answers(self) -> bool:
        """Whether somebody listens there who speaks S3: a request without a name is refused."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(self.endpoint, timeout=_ANSWER_TIMEOUT_S):
                return True
        except urllib.error.HTTPError as error:
            return error.code in (400, 403)
        except (OSError, ValueError):
            return False
