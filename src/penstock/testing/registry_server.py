"""A real schema registry that speaks Confluent's API, as a child process on loopback.

    [archive] = jar_paths("registry", cache)
    with EmbeddedRegistry(directory, archive, java) as registry:
        ...registry.url...

It is Apicurio. The archive is unpacked once, beside itself in the cache; whatever the server writes
lies in the given directory.
"""

import hashlib
import random
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from penstock.testing.servers import LOOPBACK, GuardedProcess, ServerFailed, free_ports

READY_TIMEOUT_S = 120.0

_JVM = (
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.net.preferIPv4Stack=true",
)
_PATH = "/apis/ccompat/v7"
_PORT_ATTEMPTS = 3
_POLL_S = 0.1
_ANSWER_TIMEOUT_S = 5.0


class EmbeddedRegistry:
    """One registry. Not thread-safe.

    Its schemas are in memory only: after `stop` and `start` it has the same address and is empty,
    and gives the same ids to other schemas.
    """

    def __init__(self, directory: Path, archive: Path, java: Path) -> None:
        self._directory = directory
        self._archive = archive
        self._java = java
        self._port = 0
        self._running: GuardedProcess | None = None

    @property
    def url(self) -> str:
        """Where Confluent's API is; the same as long as this instance lives."""
        return f"http://{LOOPBACK}:{self._port}{_PATH}"

    @property
    def log(self) -> Path:
        """The file with all that it has printed."""
        return self._directory / "registry.log"

    @property
    def pids(self) -> list[int]:
        """Every process that belongs to it now, its guard included."""
        return [] if self._running is None else list(self._running.pids)

    def start(self) -> None:
        """Start it and return when it answers. Bounded.

        The first time a port is probed, so another process can take it before we do; then another
        one is tried. Later it is the same one or none.
        """
        if self._running is not None:
            raise RuntimeError("this registry runs already")
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
        scratch = self._directory / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        self.log.unlink(missing_ok=True)
        [server] = unpacked(self._archive).glob("*-runner.jar")
        command = [
            str(self._java), *_JVM, f"-Djava.io.tmpdir={scratch}",
            f"-Dquarkus.http.host={LOOPBACK}", f"-Dquarkus.http.port={self._port}",
            "-jar", str(server),
        ]  # fmt: skip
        self._running = GuardedProcess(command, self._directory, self.log)

    def _await_ready(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not self._answers():
            code = None if self._running is None else self._running.exit_code
            if code is not None:
                raise ServerFailed(f"The registry ended ({code})", self.log)
            if time.monotonic() > deadline:
                raise ServerFailed(
                    f"The registry was not ready after {READY_TIMEOUT_S:.0f} s", self.log
                )
            time.sleep(_POLL_S)

    def _answers(self) -> bool:
        """Whether what listens there is our registry, and ready."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.url}/subjects", timeout=_ANSWER_TIMEOUT_S) as reply:
                return int(reply.status) == 200
        except (OSError, ValueError):
            return False


def unpacked(archive: Path) -> Path:
    """Return a directory beside the archive with what is in it; unpack only if nobody has yet.

    The directory is named by the archive's bytes and appears by a rename, so it is always complete
    and never of another archive. Several may do this at once.
    """
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    place = archive.with_name(f"{archive.name}-{digest[:16]}")
    if place.is_dir():
        return place
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=archive.parent) as work:
        ours = Path(work) / "unpacked"
        ours.mkdir()
        _unpack(archive, ours)
        try:
            ours.rename(place)
        except OSError:
            if not place.is_dir():  # nobody else was faster
                raise
    return place


def _unpack(archive: Path, place: Path) -> None:
    """Write the files of an archive below `place`, and refuse whatever could lead elsewhere."""
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise ValueError(f"{str(archive)!r} has a member that leaves it: {member.name!r}")
            content = members.extractfile(member) if member.isreg() else None
            if content is not None:
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                with (place / name).open("xb") as file:
                    shutil.copyfileobj(content, file)
            elif not member.isdir():
                raise ValueError(f"in {str(archive)!r}, this is not a file: {member.name!r}")
