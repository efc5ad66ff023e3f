"""Servers as child processes: ports nobody uses, and processes that never outlive us."""

import contextlib
import os
import random
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"

# Below the range from which systems give ports to outgoing connections. Otherwise a client could be
# given the port of a broker that is down for a moment, and even connect to itself.
_LOWEST_PORT, _HIGHEST_PORT = 15000, 30000
_PORT_TRIES = 1000

_STOP_TIMEOUT_S = 20.0
_TAIL_LINES = 25
# How Kafka and the registry say it.
_PORT_TAKEN = ("Address already in use", "already bound")


class ServerFailed(RuntimeError):
    """A server ended, or did not answer in time. The end of its log is part of the sentence."""

    def __init__(self, why: str, log: Path) -> None:
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        tail = "\n".join(lines[-_TAIL_LINES:])
        super().__init__(f"{why}. Its log is {str(log)!r} and ends with:\n{tail}")
        self.log = log
        self.port_was_taken = any(words in line for line in lines for words in _PORT_TAKEN)


def free_ports(count: int, chance: random.Random) -> list[int]:
    """Return different loopback ports that nothing listens on at this moment."""
    found: list[int] = []
    for _ in range(_PORT_TRIES):
        if len(found) == count:
            return found
        port = chance.randrange(_LOWEST_PORT, _HIGHEST_PORT)
        if port not in found and _is_free(port):
            found.append(port)
    raise RuntimeError(f"no {count} free ports on {LOOPBACK} after {_PORT_TRIES} tries")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do it: connections of a server that has just ended do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


class GuardedProcess:
    """A child process with its output in a file, which ends when we end, however we end.

    A guard, one small shell, waits on a pipe that only we hold open. When we are gone, killed or
    not, the pipe closes and the guard kills the child's process group. The kernel's own signal on a
    parent's death was the other choice; it follows the *thread* that started the child, needs code
    between fork and exec in a process that may have a JVM's threads, and exists on Linux only.
    """

    def __init__(self, command: Sequence[str], directory: Path, log: Path) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 -- tests choose what they run
                command,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._guard = subprocess.Popen(  # noqa: S603
            ["/bin/sh", "-c", 'read -r _; kill -KILL -"$1"', "guard", str(self.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The child's process id, which is also its process group."""
        return self._process.pid

    @property
    def pids(self) -> tuple[int, int]:
        """The child and its guard."""
        return self._process.pid, self._guard.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def ask_to_stop(self) -> None:
        """Send SIGTERM and return at once."""
        self._signal(signal.SIGTERM)

    def stop(self, timeout_s: float = _STOP_TIMEOUT_S) -> None:
        """SIGTERM, then SIGKILL when it has not ended in time. Returns when both are gone."""
        self.ask_to_stop()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        self.kill()

    def kill(self) -> None:
        """SIGKILL to the whole group, now. Returns when child and guard are gone."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._guard.kill()
        self._guard.wait()
        if self._guard.stdin is not None:
            self._guard.stdin.close()

    def _signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:  # until it was waited for, its id is not given to others
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)
