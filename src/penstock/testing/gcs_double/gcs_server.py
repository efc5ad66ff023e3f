"""The double as a child process on loopback, so that nothing that happens to a client reaches it.

    with EmbeddedGcs(directory) as server:
        server.make_bucket("lakes")
        ...server.endpoint, server.spec("lakes/web")...

Objects are in its memory, and gone when it ends. It takes any credentials.
"""

import json
import random
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.api.doors import STORES
from penstock.api.find import offer
from penstock.model.store_spec import StoreSpec
from penstock.testing.gcs_double.gcs_answers import Json
from penstock.testing.servers import LOOPBACK, GuardedProcess, ServerFailed, free_ports

READY_TIMEOUT_S = 30.0
PROJECT = "penstock-tests"
_PORT_ATTEMPTS = 3
_POLL_S = 0.02
_ANSWER_TIMEOUT_S = 5.0


class EmbeddedGcs:
    """One server. Not thread-safe; clients may be as many as they like."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = 0
        self._running: GuardedProcess | None = None

    @property
    def endpoint(self) -> str:
        """Where it answers."""
        return f"http://{LOOPBACK}:{self._port}"

    @property
    def log(self) -> Path:
        """The file with all that it has printed."""
        return self._directory / "gcs-double.log"

    @property
    def pids(self) -> list[int]:
        """Every process that belongs to it now, its guard included."""
        return [] if self._running is None else list(self._running.pids)

    @property
    def settings(self) -> dict[str, str]:
        """What `store:` of a configuration needs."""
        return {"endpoint": self.endpoint, "anonymous": "true", "project": PROJECT}

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which programs of Google find it."""
        return {"STORAGE_EMULATOR_HOST": self.endpoint, "GOOGLE_CLOUD_PROJECT": PROJECT}

    def spec(self, address: str, **settings: str) -> StoreSpec:
        """The spec of a store in `bucket/prefix`, with further settings over the usual ones."""
        return StoreSpec("gs", address, offer(STORES, "gs"), self.settings | settings)

    def make_bucket(self, name: str, **facts: object) -> None:
        """Create a bucket, with what a new bucket may be given; nothing happens if it is there."""
        if self.ask("GET", f"/storage/v1/b/{name}") is None:
            self.ask("POST", f"/storage/v1/b?project={PROJECT}", {"name": name, **facts})

    def set_moods(self, **moods: object) -> None:
        """Let it do what `Moods` says."""
        self.ask("PATCH", "/double/moods", moods)

    def ask(self, method: str, path: str, body: Json | None = None) -> Json | None:
        """Send a request as an owner of buckets does; None for an answer of 404."""
        request = urllib.request.Request(  # noqa: S310 -- our own server
            f"{self.endpoint}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method=method,
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=_ANSWER_TIMEOUT_S) as reply:
                found = json.loads(reply.read() or b"{}")
                return found if isinstance(found, dict) else {}
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def start(self) -> None:
        """Start it and return when it answers. Bounded.

        A port is probed, so another process can take it before we do; then another one is tried.
        """
        if self._running is not None:
            raise RuntimeError("this double runs already")
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
        """End it, politely first. Safe to repeat."""
        if self._running is not None:
            self._running.stop()
            self._running = None

    def kill(self) -> None:
        """End it at once. Safe to repeat."""
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
        self.log.unlink(missing_ok=True)
        command = [sys.executable, "-m", "penstock.testing.gcs_double", str(self._port)]
        self._running = GuardedProcess(command, self._directory, self.log)

    def _await_ready(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not self._answers():
            code = None if self._running is None else self._running.exit_code
            if code is not None:
                raise ServerFailed(f"The double of GCS ended ({code})", self.log)
            if time.monotonic() > deadline:
                why = f"The double of GCS was not ready after {READY_TIMEOUT_S:.0f} s"
                raise ServerFailed(why, self.log)
            time.sleep(_POLL_S)

    def _answers(self) -> bool:
        try:
            return self.ask("GET", "/storage/v1/b/nobody") is None
        except (OSError, ValueError):
            return False
