"""A real HDFS with two name nodes, as child processes on loopback: one is active, one stands by.

    with HdfsPair(directory, jar_paths("hdfs", cache), java) as pair:
        ...pair.spec("lake"), whose address has no host, but a name service of pair.config_dir...
        pair.fail_over()
        pair.kill_active()
        pair.take_over()

Both read one log of edits in a directory, as on a shared file system. Nobody fails over by itself:
there is no ZooKeeper, and no fencing but the death of the other.
"""

import json
import os
import random
import shutil
import signal
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.api.doors import STORES
from penstock.api.find import offer
from penstock.model.store_spec import StoreSpec
from penstock.testing.hadoop_programs import DATA_NODE, NAME_NODE, HadoopPrograms, defined
from penstock.testing.servers import LOOPBACK, GuardedProcess, ServerFailed, free_ports

SERVICE = "lakes"  # the name service, which stands in addresses where others have a host
NODES = ("nn1", "nn2")
READY_TIMEOUT_S = 180.0

_ADMIN = "org.apache.hadoop.hdfs.tools.DFSHAAdmin"
_DATA_NODES = 2  # with one, files take half a second to close
_PORTS_OF_DATA = 3  # for data, RPC and HTTP
_POLL_S = 0.2
_ANSWER_TIMEOUT_S = 5.0


class HdfsPair:
    """Two name nodes and two data nodes. Not thread-safe; clients may be as many as they like."""

    def __init__(self, directory: Path, jars: Sequence[Path], java: Path) -> None:
        self._directory = directory
        self._programs = HadoopPrograms(directory, jars, java)
        self._ports: list[int] = []
        self._name_nodes: dict[str, GuardedProcess] = {}
        self._data_nodes: list[GuardedProcess] = []

    @property
    def config_dir(self) -> Path:
        """The directory with the files of the site, which explain the name service."""
        return self._programs.config_dir

    @property
    def log(self) -> Path:
        """The file with all that both name nodes have printed."""
        return self._directory / "name-nodes.log"

    @property
    def active(self) -> str | None:
        """The name node that takes changes now; None when none does."""
        return next((name for name in NODES if self._state(name) == "active"), None)

    @property
    def standby(self) -> str | None:
        """The name node that waits for its turn; None when none does."""
        return next((name for name in NODES if self._state(name) == "standby"), None)

    @property
    def pids(self) -> list[int]:
        """Every process that belongs to it now, guards included."""
        return [pid for each in self._running() for pid in each.pids]

    def url_of(self, name: str) -> str:
        """The file system by one name node, without the name service."""
        return f"hdfs://{LOOPBACK}:{self._ports[2 * NODES.index(name)]}"

    def spec(self, path: str, **settings: str) -> StoreSpec:
        """The spec of a store below a directory of this file system."""
        words = {"config_dir": str(self.config_dir)} | settings
        return StoreSpec("hdfs", f"{SERVICE}/{path}", offer(STORES, "hdfs"), words)

    def start(self) -> None:
        """Start all of it on a new file system; return when the first name node is active."""
        count = 2 * len(NODES) + _PORTS_OF_DATA * _DATA_NODES
        self._ports = free_ports(count, random.Random())  # noqa: S311 -- not a secret
        try:
            self._launch()
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """End all of it at once. Safe to repeat."""
        for node in self._running():
            node.kill()
        self._name_nodes, self._data_nodes = {}, []

    def kill_active(self) -> str:
        """SIGKILL to the active name node; its name. Nobody takes changes until `take_over`."""
        name = self.active
        if name is None:
            raise RuntimeError("no name node is active")
        self._name_nodes.pop(name).kill()
        return name

    def freeze_active(self) -> str:
        """SIGSTOP to the active one; its name. It takes connections, and answers nothing.

        Kill it before it can wake: nothing else keeps it from the log of the other.
        """
        name = self.active
        if name is None:
            raise RuntimeError("no name node is active")
        os.killpg(self._name_nodes[name].pid, signal.SIGSTOP)
        return name

    def kill_name_node(self, name: str) -> None:
        """SIGKILL to one, also if it is frozen."""
        self._name_nodes.pop(name).kill()

    def start_name_node(self, name: str) -> None:
        """Start one that was killed; it stands by when it knows the data nodes."""
        self._start_name_node(name)
        self._await(f"{name} to be ready", lambda: self._is_ready(name))

    def fail_over(self) -> None:
        """Let both change places, as for maintenance."""
        old, new = self.active, self.standby
        if old is None or new is None:
            raise RuntimeError("two name nodes have to run")
        self._programs.run_tool(_ADMIN, "-failover", old, new)
        self._await(f"{new} to be active", lambda: self.active == new)

    def take_over(self) -> None:
        """Make the one that is left the active one."""
        name = self.standby
        if name is None:
            raise RuntimeError("no name node stands by")
        self._programs.run_tool(_ADMIN, "-transitionToActive", "--forceactive", name)
        self._await(f"{name} to be active", lambda: self.active == name)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def _launch(self) -> None:
        first, second = NODES
        self._programs.write_config(self._site(), {"fs.defaultFS": f"hdfs://{SERVICE}"})
        format_it = (*self._own(first), "-format", "-force", "-nonInteractive")
        self._programs.run_tool(NAME_NODE, *format_it)
        # What `-bootstrapStandby` does over the network.
        shutil.copytree(self._image(first), self._image(second))
        for name in NODES:
            self._start_name_node(name)
        for number in range(_DATA_NODES):
            own = defined(self._data_node(number))
            log = self._directory / "data-nodes.log"
            self._data_nodes.append(self._programs.start(DATA_NODE, log, *own))
        self._await("both to be ready", lambda: all(map(self._is_ready, NODES)))
        self.take_over()

    def _start_name_node(self, name: str) -> None:
        self._name_nodes[name] = self._programs.start(NAME_NODE, self.log, *self._own(name))

    def _own(self, name: str) -> list[str]:
        """What one name node has for itself."""
        image = f"file://{self._image(name)}"
        return defined({"dfs.ha.namenode.id": name, "dfs.namenode.name.dir": image})

    def _image(self, name: str) -> Path:
        return self._directory / name

    def _data_node(self, number: int) -> dict[str, str]:
        first = 2 * len(NODES) + _PORTS_OF_DATA * number
        data, rpc, http = (f"{LOOPBACK}:{port}" for port in self._ports[first : first + 3])
        return {
            "dfs.datanode.address": data,
            "dfs.datanode.ipc.address": rpc,
            "dfs.datanode.http.address": http,
            "dfs.datanode.data.dir": f"file://{self._directory / f'data-{number}'}",
        }

    def _site(self) -> dict[str, str]:
        provider = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
        addresses = {}
        for number, name in enumerate(NODES):
            rpc, http = self._ports[2 * number : 2 * number + 2]
            addresses[f"dfs.namenode.rpc-address.{SERVICE}.{name}"] = f"{LOOPBACK}:{rpc}"
            addresses[f"dfs.namenode.http-address.{SERVICE}.{name}"] = f"{LOOPBACK}:{http}"
        return {
            "dfs.nameservices": SERVICE,
            f"dfs.ha.namenodes.{SERVICE}": ",".join(NODES),
            f"dfs.client.failover.proxy.provider.{SERVICE}": provider,
            **addresses,
            "dfs.namenode.shared.edits.dir": f"file://{self._directory / 'edits'}",
            "dfs.ha.fencing.methods": "shell(/bin/true)",
            "dfs.ha.tail-edits.period": "1",
            "dfs.ha.log-roll.period": "5",
            "dfs.replication": str(_DATA_NODES),
            "dfs.namenode.file.close.num-committed-allowed": str(_DATA_NODES - 1),
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.namenode.safemode.extension": "0",
            "dfs.heartbeat.interval": "1",
        }

    def _running(self) -> list[GuardedProcess]:
        return [*self._data_nodes, *self._name_nodes.values()]

    def _await(self, what: str, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not holds():
            ended = [each.exit_code for each in self._running() if each.exit_code is not None]
            if ended:
                raise ServerFailed(f"A node ended ({ended[0]}) instead of {what}", self.log)
            if time.monotonic() > deadline:
                raise ServerFailed(f"Waited {READY_TIMEOUT_S:.0f} s for {what}", self.log)
            time.sleep(_POLL_S)

    def _is_ready(self, name: str) -> bool:
        facts = self._bean(name, "NameNodeInfo")
        nodes = json.loads(str(facts.get("LiveNodes", "{}")))
        return not facts.get("Safemode") and len(nodes) == _DATA_NODES

    def _state(self, name: str) -> str:
        return str(self._bean(name, "NameNodeStatus").get("State", ""))

    def _bean(self, name: str, bean: str) -> dict[str, object]:
        """What a name node says about itself; nothing while it does not answer."""
        port = self._ports[2 * NODES.index(name) + 1]
        url = f"http://{LOOPBACK}:{port}/jmx?qry=Hadoop:service=NameNode,name={bean}"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(url, timeout=_ANSWER_TIMEOUT_S) as answer:
                found = json.loads(answer.read())["beans"]
        except (OSError, ValueError):
            return {}
        return dict(found[0]) if found else {}
