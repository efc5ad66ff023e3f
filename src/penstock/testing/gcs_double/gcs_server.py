"""The double as a child process on loopback, so that nothing that happens to a client reaches it.

    with EmbeddedGcs(directory) as server:
        server.make_bucket("lakes")
        ...server.endpoint, server.spec("lakes/web")...

Objects are in its memory, and gone when it ends. It takes any credentials.
"""

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

from penstock.api.doors import STORES
from penstock.api.find import offer
from penstock.model.store_spec import StoreSpec
from penstock.testing.gcs_double.gcs_answers import Json
from penstock.testing.one_port_server import OnePortServer

READY_TIMEOUT_S = 30.0
PROJECT = "penstock-tests"
_ANSWER_TIMEOUT_S = 5.0


class EmbeddedGcs(OnePortServer):
    """One server."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "the double of GCS", "gcs-double.log", READY_TIMEOUT_S)

    @property
    def endpoint(self) -> str:
        """Where it answers."""
        return self.base_url

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

    def command(self) -> list[str]:
        """The double, as a module of this interpreter."""
        return [sys.executable, "-m", "penstock.testing.gcs_double", str(self._port)]

    def answers(self) -> bool:
        """Whether it says of a bucket that nobody made that it is not there."""
        try:
            return self.ask("GET", "/storage/v1/b/nobody") is None
        except (OSError, ValueError):
            return False
