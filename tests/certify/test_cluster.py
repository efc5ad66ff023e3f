"""A real Spark cluster on loopback: a master, and two workers with addresses of their own.

Too slow for every day; `make certify` runs it.
"""

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from penstock.engine.java import Java
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from penstock.testing.servers import GuardedProcess, free_ports
from tests.integration.conftest import (  # noqa: F401  fixtures
    broker_jars,
    client,
    java,
    kafka,
)
from tests.integration.lakes import an_event, check_exact
from tests.integration.processes import wait_for, workers_of

pytestmark = [pytest.mark.certify, pytest.mark.xdist_group("kafka")]

HOME = Path(pyspark.__file__).parent
CONFIG = """
version: 1
lake: ./lake
kafka: {{bootstrap.servers: "{bootstrap}"}}
spark:
  spark.master: "{master}"
  spark.driver.host: 127.0.0.1
  spark.driver.bindAddress: 127.0.0.1
  spark.executor.memory: 700m
  spark.pyspark.python: "{python}"
  spark.speculation: "true"
  spark.speculation.interval: 100ms
  spark.speculation.quantile: "0.5"
  spark.speculation.multiplier: "1.1"
feeds:
  events:
    topics: [{topic}]
    route: {{by: "field:type"}}
    time: {{field: event_time, unit: ms}}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, java: Java) -> Iterator[str]:  # noqa: F811
    """A standalone cluster; speculation starts copies only on another host, so there are two."""
    directory = tmp_path_factory.mktemp("cluster")
    port, page = free_ports(2, random.Random())
    master = f"spark://127.0.0.1:{port}"
    run = [
        "env",
        f"SPARK_HOME={HOME}",
        f"JAVA_HOME={java.path.parent.parent}",
        "SPARK_SCALA_VERSION=2.13",
    ]
    run += [str(java.path), "-Xmx256m", "-cp", f"{HOME}/jars/*"]
    at = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)]
    started = [
        GuardedProcess(
            [*run, "org.apache.spark.deploy.master.Master", *at],
            directory,
            directory / "master.log",
        )
    ]
    wait_for(lambda: answers(port), "the master")
    for number in (1, 2):
        words = ["--host", f"127.0.0.{number}", "--webui-port", "0", "--cores", "1"]
        words += ["--memory", "1g", "--work-dir", str(directory / f"work-{number}"), master]
        started.append(
            GuardedProcess(
                [*run, "org.apache.spark.deploy.worker.Worker", *words],
                directory,
                directory / f"worker-{number}.log",
            )
        )
    try:
        yield master
    finally:
        for each in reversed(started):
            each.kill()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_e2_e4_a_copy_of_a_slow_task_delivers_and_the_slow_one_leaves_nothing_visible(
    cluster: str,
    kafka: EmbeddedKafka,  # noqa: F811
    client: KafkaClient,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Method: stop one Python worker in the middle; the run must end while it is still stopped."""
    client.create_topic("cluster", partitions=2)
    for partition in (0, 1):
        client.produce("cluster", partition, [an_event(n) for n in range(30_000)])
    config = CONFIG.format(
        bootstrap=kafka.bootstrap, master=cluster, topic="cluster", python=sys.executable
    )
    (tmp_path / "penstock.yaml").write_text(config)
    lake = tmp_path / "lake"
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", "penstock", "run", "--once"],
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    stopped: list[int] = []
    try:
        wait_for(lambda: lake.exists() and any(lake.rglob("*.staged")), "staged files", 180)
        stopped = workers_of(1)[:1]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        assert stopped
        code = running.wait(180)
        assert code == 0, (tmp_path / "log").read_text()[-3000:]
        check_exact(lake, client, "cluster")
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait(30)
    wait_for(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in stopped), "the slow one's end"
    )
    check_exact(lake, client, "cluster")
