"""A real HDFS, as child processes on loopback: a name node and data nodes.

    with EmbeddedHdfs(directory, jar_paths("hdfs", cache), java) as server:
        ...server.authority, server.spec("lake")...

The user who runs it is its superuser; permissions are checked. With one data node every file takes
half a second to close, because the client asks the name node before that node has reported its
block, and then waits. With `quick`, and so two data nodes, the name node closes it at once.
"""

import json
import os
import random
import signal
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.api.doors import STORES
from penstock.api.find import offer
from penstock.model.store_spec import StoreSpec
from penstock.testing.hadoop_programs import DATA_NODE, NAME_NODE, HadoopPrograms, defined
from penstock.testing.servers import LOOPBACK, GuardedProcess, ServerFailed, free_ports

READY_TIMEOUT_S = 120.0
SOFT_LIMIT_S = 60.0

ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"

_DATA_PORTS = 3  # of each data node: for data, RPC and HTTP
_PORT_ATTEMPTS = 3
_LIVELY_S = 3  # a data node that was heard of within so long is alive
_POLL_S = 0.1
_ANSWER_TIMEOUT_S = 5.0


class EmbeddedHdfs:
    """One HDFS. Not thread-safe; clients may be as many as they like.

    After `stop`, `kill` and `start` it has the same address and holds what it held. The name node
    can be killed, frozen and started by itself, and so can the data nodes. `settings` go into its
    `hdfs-site.xml`, over the usual ones, and `core` into its `core-site.xml`.
    """

    def __init__(
        self,
        directory: Path,
        jars: Sequence[Path],
        java: Path,
        settings: Mapping[str, str] | None = None,
        core: Mapping[str, str] | None = None,
        *,
        quick: bool = False,
        java_options: Sequence[str] = (),
    ) -> None:
        self._directory = directory
        self._programs = HadoopPrograms(directory, jars, java, java_options)
        self._settings = dict(settings or {})
        self._core = dict(core or {})
        self._quick = quick
        self._ports: list[int] = []
        self._name_node: GuardedProcess | None = None
        self._data_nodes: list[GuardedProcess] = []

    @property
    def authority(self) -> str:
        """Host and port of the name node; the same as long as this instance lives."""
        return f"{LOOPBACK}:{self._ports[0] if self._ports else 0}"

    @property
    def url(self) -> str:
        """The root of the file system, as clients take it."""
        return f"hdfs://{self.authority}"

    @property
    def port(self) -> int:
        """The port of the name node."""
        return self._ports[0]

    @property
    def config_dir(self) -> Path:
        """The directory with its `core-site.xml` and `hdfs-site.xml`, for clients as for itself."""
        return self._programs.config_dir

    @property
    def name_node_log(self) -> Path:
        """The file with all that the name node has printed."""
        return self._directory / "name-node.log"

    @property
    def data_node_log(self) -> Path:
        """The file with all that the data nodes have printed."""
        return self._directory / "data-nodes.log"

    @property
    def pids(self) -> list[int]:
        """Every process that belongs to it now, guards included."""
        return [pid for each in self._running() for pid in each.pids]

    def spec(self, path: str, **settings: str) -> StoreSpec:
        """The spec of a store below a directory of this file system."""
        return StoreSpec("hdfs", f"{self.authority}/{path}", offer(STORES, "hdfs"), settings)

    def start(self) -> None:
        """Start both nodes, the first time on a new file system; return when they are ready.

        The first time ports are probed, so another process can take one before we do; then others
        are tried. Later they are the same ones or none.
        """
        if self._running():
            raise RuntimeError("this HDFS runs already")
        attempts = 1 if self._ports else _PORT_ATTEMPTS
        for attempt in range(attempts):
            before = list(self._ports)
            if not before:
                count = 2 + _DATA_PORTS * self._size
                self._ports = free_ports(count, random.Random())  # noqa: S311 -- not a secret
            try:
                self._launch()
                return
            except ServerFailed as failure:
                self.kill()
                self._ports = before
                if not failure.port_was_taken or attempt + 1 == attempts:
                    raise
            except BaseException:
                self.kill()
                raise

    def stop(self) -> None:
        """End both, politely first. Nothing of ours runs afterwards. Safe to repeat."""
        for node in reversed(self._running()):
            node.stop()
        self._name_node, self._data_nodes = None, []

    def kill(self) -> None:
        """End both at once, as a power cut would. Safe to repeat."""
        self.kill_name_node()
        self.kill_data_nodes()

    def kill_name_node(self) -> None:
        """SIGKILL to the name node; what it has answered is in its log of edits. Repeatable."""
        if self._name_node is not None:
            self._name_node.kill()
            self._name_node = None

    def kill_data_nodes(self) -> None:
        """SIGKILL to all data nodes. Safe to repeat."""
        for node in self._data_nodes:
            node.kill()
        self._data_nodes = []

    def start_name_node(self, *, wait: bool = True) -> None:
        """Start it again at its address; without waiting, it may be in safe mode for a while."""
        if self._name_node is None:
            self._name_node = self._programs.start(NAME_NODE, self.name_node_log)
        if wait:
            self.await_ready()

    def start_data_nodes(self) -> None:
        """Start them again, and return when the name node knows them."""
        self._start_data_nodes()
        self.await_ready()

    def freeze_name_node(self) -> None:
        """SIGSTOP: its connections stay open, and nothing is answered."""
        self._signal([self._name_node], signal.SIGSTOP)

    def thaw_name_node(self) -> None:
        """SIGCONT: it goes on, also with what arrived meanwhile."""
        self._signal([self._name_node], signal.SIGCONT)

    def freeze_data_nodes(self, most: int | None = None) -> None:
        """SIGSTOP: data is neither taken nor given, by at most so many of them."""
        self._signal(self._data_nodes[:most], signal.SIGSTOP)

    def thaw_data_nodes(self) -> None:
        """SIGCONT: they go on."""
        self._signal(self._data_nodes, signal.SIGCONT)

    def thaw_all(self) -> None:
        """SIGCONT to every node that runs."""
        self._signal(self._running(), signal.SIGCONT)

    def enter_safe_mode(self) -> None:
        """Let the name node refuse every change until `leave_safe_mode`."""
        self.run_tool(ADMIN, "-safemode", "enter")

    def leave_safe_mode(self) -> None:
        """Let it take changes again."""
        self.run_tool(ADMIN, "-safemode", "leave")

    def run_tool(self, tool: str, *arguments: str) -> str:
        """Run a program of Hadoop against this file system; what it printed, errors included."""
        return self._programs.run_tool(tool, *arguments)

    def await_ready(self) -> None:
        """Return when the name node knows all data nodes and has left safe mode. Bounded."""
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not self._is_ready():
            self._require_running()
            if time.monotonic() > deadline:
                why = f"HDFS was not ready after {READY_TIMEOUT_S:.0f} s"
                raise ServerFailed(why, self.name_node_log)
            time.sleep(_POLL_S)

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
        self._write_config()
        for log in (self.name_node_log, self.data_node_log):
            log.unlink(missing_ok=True)
        if not (self._directory / "name").exists():
            self.run_tool(NAME_NODE, "-format", "-force", "-nonInteractive")
        self._name_node = self._programs.start(NAME_NODE, self.name_node_log)
        self._start_data_nodes()
        self.await_ready()

    @property
    def _size(self) -> int:
        return 2 if self._quick else 1

    def _running(self) -> list[GuardedProcess]:
        first = [] if self._name_node is None else [self._name_node]
        return [*first, *self._data_nodes]

    def _start_data_nodes(self) -> None:
        if not self._data_nodes:
            commands = [self._data_node_settings(number) for number in range(self._size)]
            self._data_nodes = [
                self._programs.start(DATA_NODE, self.data_node_log, *each) for each in commands
            ]

    def _data_node_settings(self, number: int) -> list[str]:
        """What one data node has for itself, as arguments that Hadoop takes over its files."""
        first = 2 + _DATA_PORTS * number
        data, rpc, http = (f"{LOOPBACK}:{port}" for port in self._ports[first : first + 3])
        own = {
            "dfs.datanode.address": data,
            "dfs.datanode.ipc.address": rpc,
            "dfs.datanode.http.address": http,
            "dfs.datanode.data.dir": f"file://{self._directory / f'data-{number}'}",
        }
        return defined(own)

    def _write_config(self) -> None:
        names = [f"{LOOPBACK}:{port}" for port in self._ports[:2]]
        site = {
            "dfs.replication": str(self._size),
            "dfs.namenode.file.close.num-committed-allowed": str(self._size - 1),
            "dfs.namenode.rpc-address": names[0],
            "dfs.namenode.http-address": names[1],
            "dfs.namenode.name.dir": f"file://{self._directory / 'name'}",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.namenode.safemode.extension": "0",
            "dfs.namenode.handler.count": "8",
            "dfs.heartbeat.interval": "1",
            "dfs.blockreport.initialDelay": "0",
        }
        self._programs.write_config(site | self._settings, {"fs.defaultFS": self.url} | self._core)

    def _is_ready(self) -> bool:
        facts = self._bean("Hadoop:service=NameNode,name=NameNodeInfo")
        if facts is None or facts.get("Safemode"):
            return False
        nodes = json.loads(str(facts.get("LiveNodes", "{}")))
        return len(nodes) == self._size and all(
            int(each["lastContact"]) < 3 for each in nodes.values()
        )

    def _bean(self, name: str) -> dict[str, object] | None:
        """What the name node says about itself; None while it does not answer."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            url = f"http://{LOOPBACK}:{self._ports[1]}/jmx?qry={name}"
            with opener.open(url, timeout=_ANSWER_TIMEOUT_S) as answer:
                beans = json.loads(answer.read())["beans"]
        except (OSError, ValueError):
            return None
        return dict(beans[0]) if beans else None

    def _signal(self, nodes: Sequence[GuardedProcess | None], number: signal.Signals) -> None:
        for node in nodes:
            if node is None:
                raise RuntimeError("this node does not run")
            os.killpg(node.pid, number)

    def _require_running(self) -> None:
        for node in self._running():
            if node.exit_code is not None:
                name = "name node" if node is self._name_node else "data node"
                log = self.name_node_log if node is self._name_node else self.data_node_log
                raise ServerFailed(f"The {name} ended ({node.exit_code})", log)
