"""A real Spark cluster on loopback: a master, and two workers with addresses of their own."""

import random
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

from penstock.spark.java import Java
from penstock.testing.servers import GuardedProcess, free_ports
from tests.integration.processes import below, wait_for, workers_of

HOME = Path(pyspark.__file__).parent


class SparkCluster:
    """Speculation starts copies only on another host, so there are two."""

    def __init__(self, directory: Path, java: Java) -> None:
        self._directory = directory
        self._java = java
        self._started: list[GuardedProcess] = []
        self.master = ""

    def __enter__(self) -> Self:
        port, page = free_ports(2, random.Random())
        self.master = f"spark://127.0.0.1:{port}"
        at = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)]
        self._start("master", "org.apache.spark.deploy.master.Master", *at)
        wait_for(lambda: answers(port), "the master")
        for number in (1, 2):
            words = ["--host", f"127.0.0.{number}", "--webui-port", "0", "--cores", "1"]
            words += ["--memory", "1g", "--work-dir", str(self._directory / f"work-{number}")]
            worker = "org.apache.spark.deploy.worker.Worker"
            self._start(f"worker-{number}", worker, *words, self.master)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each in reversed(self._started):
            each.kill()

    def executors(self) -> list[int]:
        """The JVMs that run tasks now."""
        return self._below("CoarseGrainedExecutorBackend")

    def python_workers(self) -> list[int]:
        """The Python processes that run our function now; their daemon is not one of them."""
        return [pid for each in self._started for pid in workers_of(each.pid)]

    def _below(self, word: str) -> list[int]:
        return [pid for each in self._started for pid in below(each.pid, word) if pid != each.pid]

    def _start(self, name: str, main: str, *words: str) -> None:
        command = ["env", f"SPARK_HOME={HOME}", f"JAVA_HOME={self._java.path.parent.parent}"]
        command += ["SPARK_SCALA_VERSION=2.13", str(self._java.path), "-Xmx256m"]
        command += ["-cp", f"{HOME}/jars/*", main, *words]
        log = self._directory / f"{name}.log"
        self._started.append(GuardedProcess(command, self._directory, log))


def answers(port: int) -> bool:
    """True when somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
