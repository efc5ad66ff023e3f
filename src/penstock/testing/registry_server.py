"""A real schema registry that speaks Confluent's API, as a child process on loopback.

    [archive] = jar_paths("registry", cache)
    with EmbeddedRegistry(directory, archive, java) as registry:
        ...registry.url...

It is Apicurio. The archive is unpacked once, beside itself in the cache; whatever the server writes
lies in the given directory.
"""

import hashlib
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path, PurePosixPath

from penstock.testing.one_port_server import OnePortServer
from penstock.testing.servers import LOOPBACK

READY_TIMEOUT_S = 120.0

_JVM = (
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.net.preferIPv4Stack=true",
)
_PATH = "/apis/ccompat/v7"
_ANSWER_TIMEOUT_S = 5.0


class EmbeddedRegistry(OnePortServer):
    """One registry.

    Its schemas are in memory only: after `stop` and `start` it has the same address and is empty,
    and gives the same ids to other schemas.
    """

    def __init__(self, directory: Path, archive: Path, java: Path) -> None:
        super().__init__(directory, "the registry", "registry.log", READY_TIMEOUT_S)
        self._archive = archive
        self._java = java

    @property
    def url(self) -> str:
        """Where Confluent's API is; the same as long as this instance lives."""
        return f"{self.base_url}{_PATH}"

    def command(self) -> list[str]:
        """The server, as it lies unpacked, with its temporary files in its directory."""
        scratch = self._directory / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        [server] = unpacked(self._archive).glob("*-runner.jar")
        return [
            str(self._java), *_JVM, f"-Djava.io.tmpdir={scratch}",
            f"-Dquarkus.http.host={LOOPBACK}", f"-Dquarkus.http.port={self._port}",
            "-jar", str(server),
        ]  # fmt: skip

    def answers(self) -> bool:
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
