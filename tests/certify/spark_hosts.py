"""A standalone Spark cluster whose hosts share no file with the driver, nor with each other.

A worker runs in a mount namespace of its own: the directories of the driver, of the repository and
of the other host are empty there. A host has Java and a Python of the system, Spark, and Python
packages in directories of its own, as an image would; Penstock is not among them.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

from penstock.config import places
from penstock.datapath.codec.shared.code_cache import code_place
from penstock.spark import compiling
from penstock.spark.java import Java
from penstock.testing.servers import GuardedProcess, free_ports
from tests.certify.spark_cluster import HOME as SPARK
from tests.certify.spark_cluster import answers
from tests.integration.processes import REPOSITORY, below, wait_for, workers_of

PACKAGES = Path(pyspark.__file__).parents[1]
BASE_PYTHON = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
# What happens to be installed for the Python of this machine is on no host either.
BASE_PACKAGES = Path(
    sysconfig.get_path("purelib", vars={"base": sys.base_prefix, "platbase": sys.base_prefix})
)
# Not on a host: what the driver ships, what Spark brings, and what leads back to the repository.
NOT_INSTALLED = ("penstock", "_editable_impl_penstock", "__editable__", "pyspark", "py4j")
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
EXECUTOR = "CoarseGrainedExecutorBackend"
_HIDING = """
set -e
mount --bind "$1" "$3/spark"
mount --bind "$2" "$3/packages"
cd "$3"
shift 3
while [ "$1" != -- ]; do mount -t tmpfs -o size=4k none "$1"; shift; done
shift
exec "$@"
"""


def needs() -> str:
    """Why hosts cannot be told apart on this machine; nothing if they can."""
    tried = subprocess.run([*_apart(), "true"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"no mount namespaces here: {tried.stderr.strip()}"


def _apart() -> list[str]:
    as_root = ["unshare", "--mount"]
    return as_root if os.geteuid() == 0 else [*as_root, "--map-root-user"]


@dataclass(frozen=True)
class Host:
    """A directory and an address. `lacks` are packages that are not installed on it."""

    number: int
    directory: Path

    @property
    def address(self) -> str:
        """Another one than the driver's."""
        return f"127.0.0.{self.number + 1}"

    def furnish(self, lacks: Iterable[str]) -> None:
        """Make what an image would have; packages are links into one directory of the host."""
        shutil.rmtree(self.directory / "site", ignore_errors=True)
        for name in ("home", "tmp", "spark", "packages", "site", "bin", "work"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        without = (*NOT_INSTALLED, *lacks)
        for each in PACKAGES.iterdir():
            if not each.name.startswith(without) and each.suffix != ".pth":
                (self.directory / "site" / each.name).symlink_to(
                    self.directory / "packages" / each.name
                )
        python = self.directory / "bin" / "python3"
        if not python.is_symlink():
            python.symlink_to(BASE_PYTHON)
        self._compiled()

    def _compiled(self) -> None:
        """What `RUN python -m penstock.spark.compiling` leaves in an image."""
        compiling.load()
        code = code_place()
        assert code is not None, "compiled code is kept on this machine"
        below_home = places.cache_directory({"HOME": str(self.directory / "home")})
        shutil.copytree(code, below_home / "compiled" / code.name, dirs_exist_ok=True)

    def command(self, java: Java, master: str, hidden: Sequence[Path]) -> list[str]:
        """The worker, in a mount namespace of its own."""
        here = self.directory
        settings = {
            "PATH": f"{here}/bin:/usr/bin:/bin",
            "HOME": f"{here}/home",
            "TMPDIR": f"{here}/tmp",
            "SPARK_HOME": f"{here}/spark",
            "SPARK_LOCAL_DIRS": f"{here}/tmp",
            "SPARK_SCALA_VERSION": "2.13",
            "JAVA_HOME": str(java.path.parent.parent),
            "PYTHONPATH": f"{here}/site",
        }
        words = ["env", "-i", *(f"{key}={value}" for key, value in settings.items())]
        words += [str(java.path), "-Xmx256m", f"-Djava.io.tmpdir={here}/tmp"]
        words += ["-cp", f"{here}/spark/jars/*", WORKER, "--host", self.address]
        words += ["--webui-port", "0", "--cores", "1", "--memory", "1g"]
        words += ["--work-dir", f"{here}/work", master]
        into = [*_apart(), "sh", "-c", _HIDING, "host", str(SPARK), str(PACKAGES), str(here)]
        return [*into, *map(str, hidden), "--", *words]


class SparkHosts:
    """A master and two hosts. A host can be lost, and come back with other packages."""

    def __init__(self, directory: Path, java: Java, hidden: Sequence[Path]) -> None:
        self._directory = directory
        self._java = java
        self._hidden = (REPOSITORY, places.cache_directory(), BASE_PACKAGES, *hidden)
        self._master: GuardedProcess | None = None
        self._running: dict[int, GuardedProcess] = {}
        self.hosts = tuple(Host(number, directory / f"host-{number}") for number in (1, 2))
        self.master = ""

    def __enter__(self) -> Self:
        port, page = free_ports(2, random.Random())
        self.master = f"spark://127.0.0.1:{port}"
        command = ["env", f"SPARK_HOME={SPARK}", "SPARK_SCALA_VERSION=2.13", str(self._java.path)]
        command += ["-Xmx256m", "-cp", f"{SPARK}/jars/*", MASTER, "--host", "127.0.0.1"]
        command += ["--port", str(port), "--webui-port", str(page)]
        self._master = GuardedProcess(command, self._directory, self._directory / "master.log")
        wait_for(lambda: answers(port), "the master")
        for host in self.hosts:
            self.start(host)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for host in self.hosts:
            self.lose(host)
        if self._master is not None:
            self._master.kill()

    def start(self, host: Host, lacks: Iterable[str] = ()) -> None:
        """Start the worker of a host, with what is installed there."""
        host.furnish(lacks)
        others = [each.directory for each in self.hosts if each != host]
        for each in others:
            each.mkdir(exist_ok=True)
        hidden = [each for each in (*self._hidden, *others) if each.exists()]
        command = host.command(self._java, self.master, hidden)
        log = self._directory / f"worker-{host.number}.log"
        before = log.read_text().count(REGISTERED) if log.exists() else 0
        self._running[host.number] = GuardedProcess(command, self._directory, log)
        wait_for(lambda: log.read_text().count(REGISTERED) > before, f"{host} in {log}")

    def restart(self, lacks: Iterable[str] = ()) -> None:
        """All hosts, as new ones."""
        for host in self.hosts:
            self.lose(host)
            self.start(host, lacks)

    def lose(self, host: Host) -> None:
        """A host goes: its worker, executors and Python processes at once."""
        running = self._running.pop(host.number, None)
        if running is None:
            return
        python = below(running.pid, "pyspark.worker")
        running.kill()  # executors are in its group; Python workers are in one of their own
        for pid in python:
            with_signal(pid, signal.SIGKILL)

    def executors(self) -> list[int]:
        """The JVMs that run tasks now, on all hosts."""
        return [p for each in self._running.values() for p in below(each.pid, EXECUTOR)]

    def python_workers(self) -> list[int]:
        """The Python processes that run our function now; their daemons are not among them."""
        return [pid for each in self._running.values() for pid in workers_of(each.pid)]

    def host_of(self, pid: int) -> Host:
        """The host on which a process runs."""
        for host in self.hosts:
            running = self._running.get(host.number)
            if running is not None and pid in below(running.pid, ""):
                return host
        raise LookupError(f"{pid} runs on no host")

    def executor_of(self, worker: int) -> int:
        """The JVM that a Python worker works for."""
        return next(pid for pid in self.executors() if worker in below(pid, ""))

    def shared_with(self, paths: Sequence[Path]) -> list[str]:
        """What processes on hosts can see of these paths: nothing, if all is as it should be."""
        found = []
        for host, running in self._running.items():
            root = Path(f"/proc/{running.pid}/root")
            seen = [p for p in paths if any((root / p.relative_to("/")).glob("*"))]
            found += [f"host {host} sees {path}" for path in seen]
        return found

    def holds(self, text: bytes) -> list[Path]:
        """The files of hosts that contain a text, their logs among them."""
        files = (f for each in self.hosts for f in each.directory.rglob("*") if own_file(f))
        logs = self._directory.glob("*.log")
        return [file for file in (*files, *logs) if text in file.read_bytes()]


REGISTERED = "Successfully registered with master"


def own_file(path: Path) -> bool:
    """True for a file that a process has written, and not for what an image has."""
    return path.is_file() and not path.is_symlink() and path.suffix not in (".nbi", ".nbc", ".jar")


def with_signal(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
