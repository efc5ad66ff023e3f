"""A server as a child process on one loopback port: started, awaited, ended, and started again."""

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.testing.servers import LOOPBACK, GuardedProcess, ServerFailed, free_ports

_PORT_ATTEMPTS = 3
_POLL_S = 0.1


class OnePortServer(ABC):
    """One server. Not thread-safe; clients may be as many as they like.

    After `stop`, `kill` and `start` it has the same address. A child of this class says what is
    run, and how one sees that it is ready.
    """

    def __init__(self, directory: Path, title: str, log_name: str, ready_timeout_s: float) -> None:
        self._directory = directory
        self._title = title
        self._log_name = log_name
        self._ready_timeout_s = ready_timeout_s
        self._port = 0
        self._running: GuardedProcess | None = None

    @property
    def base_url(self) -> str:
        """Where it answers; the same as long as this instance lives."""
        return f"http://{LOOPBACK}:{self._port}"

    @property
    def log(self) -> Path:
        """The file with all that it has printed."""
        return self._directory / self._log_name

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
            raise RuntimeError(f"{self._title} runs already")
        attempts = 1 if self._port else _PORT_ATTEMPTS
        for attempt in range(attempts):
            before = self._port
            if not before:
                [self._port] = free_ports(1, random.Random())  # noqa: S311 -- not a secret
            try:
                self.log.unlink(missing_ok=True)
                self._directory.mkdir(parents=True, exist_ok=True)
                self._running = GuardedProcess(self.command(), self._directory, self.log)
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

    @abstractmethod
    def command(self) -> Sequence[str]:
        """What is run, on the port that was chosen; makes the directories and files it needs."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether what listens there is this server, and ready."""

    def _await_ready(self) -> None:
        deadline = time.monotonic() + self._ready_timeout_s
        while not self.answers():
            code = None if self._running is None else self._running.exit_code
            if code is not None:
                raise ServerFailed(f"{self._title} ended ({code})", self.log)
            if time.monotonic() > deadline:
                why = f"{self._title} was not ready after {self._ready_timeout_s:.0f} s"
                raise ServerFailed(why, self.log)
            time.sleep(_POLL_S)
