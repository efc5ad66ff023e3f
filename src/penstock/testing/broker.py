"""A real Kafka, as child processes on loopback: one broker, or several with a quorum.

    with EmbeddedKafka(directory, jar_paths("broker", cache), java) as kafka:
        ...kafka.bootstrap...

Each node is broker and controller in one JVM (KRaft). All it writes lies in the given directory:
`node-1/server.properties`, `node-1/data`, `node-1/server.log`. Needs no client library;
`penstock.testing.kafka_client` has one for tests.
"""

import os
import random
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.testing.metadata_request import ClusterMetadata, ask_metadata
from penstock.testing.servers import LOOPBACK, GuardedProcess, ServerFailed, free_ports

CLUSTER_ID = "UGVuc3RvY2tUZXN0cy0wMQ"
READY_TIMEOUT_S = 60.0

_JVM = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.net.preferIPv4Stack=true",
    "-Dlog4j2.level=INFO",
)
_PORT_ATTEMPTS = 3
_POLL_S = 0.1
_FORMAT_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Listener:
    """One more way to a broker: its name, Kafka's protocol, and properties of its own."""

    name: str
    protocol: str
    properties: Mapping[str, str] = field(default_factory=dict)


class EmbeddedKafka:
    """One cluster. Not thread-safe; nodes are numbered from 1.

    `properties` are server properties for every node and win over ours. `listeners` are ways to it
    beside the plain one, and `java_options` are for its JVM. A cluster can be stopped and started
    again, also by another instance on the same directory with the same `brokers`: it keeps its data
    and its `cluster_id`, but its ports only within one instance.
    """

    def __init__(
        self,
        directory: Path,
        jars: Sequence[Path],
        java: Path,
        brokers: int = 1,
        cluster_id: str = CLUSTER_ID,
        properties: Mapping[str, str] | None = None,
        *,
        listeners: Sequence[Listener] = (),
        java_options: Sequence[str] = (),
    ) -> None:
        self._directory = directory
        self._java = java
        self._classpath = os.pathsep.join(map(str, jars))
        self._nodes = range(1, brokers + 1)
        self._cluster_id = cluster_id
        self._properties = dict(properties or {})
        self._listeners = tuple(listeners)
        self._java_options = tuple(java_options)
        self._ports: dict[int, tuple[int, int]] = {}
        self._more_ports: dict[tuple[int, str], int] = {}
        self._running: dict[int, GuardedProcess] = {}

    @property
    def bootstrap(self) -> str:
        """The addresses of all nodes, running or not, for `bootstrap.servers`."""
        return ",".join(f"{LOOPBACK}:{self._ports[node][0]}" for node in self._nodes)

    def bootstrap_of(self, listener: str) -> str:
        """The same of one of `listeners`, by its name."""
        return ",".join(f"{LOOPBACK}:{self._more_ports[node, listener]}" for node in self._nodes)

    @property
    def cluster_id(self) -> str:
        """The id that clients see."""
        return self._cluster_id

    @property
    def pids(self) -> list[int]:
        """Every process that belongs to this cluster now, guards included."""
        return [pid for process in self._running.values() for pid in process.pids]

    def log(self, node: int = 1) -> Path:
        """The file with all that a node has printed."""
        return self._home(node) / "server.log"

    def start(self) -> None:
        """Start all nodes and return when each of them knows all of them. Bounded.

        Ports are probed, so another process can take one before we do; then others are tried.
        """
        if self._running:
            raise RuntimeError("this cluster runs already")
        for attempt in range(_PORT_ATTEMPTS):
            if not self._ports:
                self._choose_ports()
            try:
                self._start_all()
                return
            except ServerFailed as failure:
                self._kill_all()
                if not failure.port_was_taken or attempt + 1 == _PORT_ATTEMPTS:
                    raise
                self._ports.clear()
                for node in self._nodes:
                    self.log(node).unlink(missing_ok=True)
            except BaseException:
                self._kill_all()
                raise

    def stop(self) -> None:
        """End all nodes, politely first. Nothing of ours runs afterwards. Safe to repeat."""
        for process in self._running.values():
            process.ask_to_stop()
        for node in list(self._running):
            self._running.pop(node).stop()

    def kill(self, node: int = 1) -> None:
        """End one node at once, as a power cut would."""
        self._running.pop(node).kill()

    def restart(self, node: int = 1) -> None:
        """Start a node, after stopping it if it runs, and wait until it is back in the cluster."""
        if node in self._running:
            self._running.pop(node).stop()
        self._launch(node)
        self._await_ready()

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

    def _choose_ports(self) -> None:
        more = [(node, each.name) for node in self._nodes for each in self._listeners]
        count = 2 * len(self._nodes)
        ports = free_ports(count + len(more), random.Random())  # noqa: S311 -- not a secret
        pairs = zip(ports[:count:2], ports[1:count:2], strict=True)
        self._ports = dict(zip(self._nodes, pairs, strict=True))
        self._more_ports = dict(zip(more, ports[count:], strict=True))

    def _start_all(self) -> None:
        for node in self._nodes:
            self._write_properties(node)
        self._format([node for node in self._nodes if not self._is_formatted(node)])
        for node in self._nodes:
            self._launch(node)
        self._await_ready()

    def _kill_all(self) -> None:
        for node in list(self._running):
            self.kill(node)

    def _home(self, node: int) -> Path:
        return self._directory / f"node-{node}"

    def _is_formatted(self, node: int) -> bool:
        return (self._home(node) / "data" / "meta.properties").exists()

    def _write_properties(self, node: int) -> None:
        self._home(node).mkdir(parents=True, exist_ok=True)
        settings = server_properties(node, self._ports, self._home(node) / "data")
        for each in self._listeners:
            settings = with_listener(settings, each, self._more_ports[node, each.name])
        lines = [f"{key}={value}" for key, value in (settings | self._properties).items()]
        (self._home(node) / "server.properties").write_text("\n".join(lines) + "\n")

    def _command(self, *arguments: str) -> list[str]:
        return [str(self._java), *_JVM, *self._java_options, "-cp", self._classpath, *arguments]

    def _format(self, nodes: Sequence[int]) -> None:
        """Prepare the data directories, all at the same time: each takes a JVM."""
        started = []
        for node in nodes:
            with self.log(node).open("ab") as log:
                command = self._command(
                    "kafka.tools.StorageTool", "format", "-t", self._cluster_id,
                    "-c", "server.properties",
                )  # fmt: skip
                started.append(
                    subprocess.Popen(command, cwd=self._home(node), stdout=log, stderr=log)  # noqa: S603
                )
        for node, process in zip(nodes, started, strict=True):
            try:
                failed = process.wait(_FORMAT_TIMEOUT_S) != 0
            except subprocess.TimeoutExpired:
                failed = True
            except BaseException:  # a Ctrl-C must not leave a JVM behind
                _kill(started)
                raise
            if failed:
                _kill(started)
                raise ServerFailed(
                    f"Kafka could not format the data of node {node}", self.log(node)
                )

    def _launch(self, node: int) -> None:
        command = self._command("kafka.Kafka", "server.properties")
        self._running[node] = GuardedProcess(command, self._home(node), self.log(node))

    def _await_ready(self) -> None:
        """Wait until every running node answers, and sees exactly the running nodes."""
        wanted = frozenset(self._running)
        deadline = time.monotonic() + READY_TIMEOUT_S
        for node, process in self._running.items():
            while not self._is_ready(node, wanted):
                if process.exit_code is not None:
                    raise ServerFailed(
                        f"Kafka node {node} ended ({process.exit_code})", self.log(node)
                    )
                if time.monotonic() > deadline:
                    why = f"Kafka node {node} was not ready after {READY_TIMEOUT_S:.0f} s"
                    raise ServerFailed(why, self.log(node))
                time.sleep(_POLL_S)

    def _is_ready(self, node: int, wanted: frozenset[int]) -> bool:
        metadata = self._metadata(node)
        return metadata is not None and metadata.brokers == wanted and metadata.controller > 0

    def _metadata(self, node: int) -> ClusterMetadata | None:
        try:
            found = ask_metadata(LOOPBACK, self._ports[node][0], timeout_s=2.0)
        except (OSError, ValueError):
            return None
        return found if found.cluster_id == self._cluster_id else None


def server_properties(
    node: int, ports: Mapping[int, tuple[int, int]], data: Path
) -> dict[str, str]:
    """Return the properties of one node; `ports` are (clients, controller) of every node.

    Small and quick to start, everything on loopback, nothing created without being asked for. With
    three nodes and more, one may be lost without anybody noticing but the replicas.
    """
    clients, controller = ports[node]
    copies = min(len(ports), 3)
    in_sync = max(copies - 1, 1)
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": ",".join(
            f"{voter}@{LOOPBACK}:{port}" for voter, (_, port) in ports.items()
        ),
        "listeners": f"PLAINTEXT://{LOOPBACK}:{clients},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{clients}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(data),
        "auto.create.topics.enable": "false",
        "default.replication.factor": str(copies),
        "min.insync.replicas": str(in_sync),
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": str(copies),
        "transaction.state.log.num.partitions": "4",
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": str(in_sync),
        "share.coordinator.state.topic.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": str(copies),
        "share.coordinator.state.topic.min.isr": str(in_sync),
        "group.initial.rebalance.delay.ms": "0",
        "num.network.threads": "2",
        "num.io.threads": "4",
        # A node that was killed may come back once its old session is over.
        "broker.session.timeout.ms": "5000",
        "broker.heartbeat.interval.ms": "500",
        "log.cleaner.dedupe.buffer.size": "16777216",
    }


def with_listener(settings: Mapping[str, str], listener: Listener, port: int) -> dict[str, str]:
    """The properties of a node with one more listener, on that port."""
    name = listener.name
    own = {
        f"listener.name.{name.lower()}.{key}": value for key, value in listener.properties.items()
    }
    address = f"{name}://{LOOPBACK}:{port}"
    protocols = "listener.security.protocol.map"
    return {
        **settings,
        "listeners": f"{settings['listeners']},{address}",
        "advertised.listeners": f"{settings['advertised.listeners']},{address}",
        protocols: f"{settings[protocols]},{name}:{listener.protocol}",
        **own,
    }


def _kill(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.kill()
        process.wait()
