"""A real Prometheus and promtool, from the system's packages; `make test` fetches them."""

import json
import random
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from penstock.testing.servers import LOOPBACK, GuardedProcess, ServerFailed, free_ports

FETCHED = Path(sys.prefix) / "prometheus" / "usr" / "bin"
PATIENCE_S = 60.0

T = TypeVar("T")


def tool(name: str) -> str:
    """Where a program of Prometheus lies."""
    found = shutil.which(name) or shutil.which(name, path=str(FETCHED))
    assert found, f"{name} is missing: run `make test`, which fetches it, or install prometheus"
    return found


def promtool(*words: str, given: bytes = b"") -> str:
    """Run promtool, which has to succeed; what it says."""
    ran = subprocess.run([tool("promtool"), *words], input=given, capture_output=True, check=False)
    said = (ran.stdout + ran.stderr).decode()
    assert ran.returncode == 0, said
    return said


class Prometheus:
    """A server that scrapes some addresses every second, and judges rules as often."""

    def __init__(self, place: Path, rules: str, targets: list[str]) -> None:
        self._place = place
        (port,) = free_ports(1, random.SystemRandom())
        self.url = f"http://{LOOPBACK}:{port}"
        (place / "rules.yml").write_text(rules)
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [
                {"job_name": "penstock", "static_configs": [{"targets": targets}]},
            ],
        }
        (place / "prometheus.yml").write_text(json.dumps(config))
        self._command = [
            tool("prometheus"),
            f"--config.file={place / 'prometheus.yml'}",
            f"--storage.tsdb.path={place / 'data'}",
            f"--web.listen-address={LOOPBACK}:{port}",
        ]
        self._log = place / "prometheus.log"

    def __enter__(self) -> Self:
        self._process = GuardedProcess(self._command, self._place, self._log)
        eventually(self._is_ready, lambda ready: ready, self._why)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()

    def samples(self, query: str) -> list[tuple[float, float]]:
        """Time and value of the samples of a range query such as `up[5m]`, of all series."""
        found = self._asked("query", query=query)["result"]
        pairs = [pair for series in found for pair in series["values"]]
        return sorted((float(at), float(value)) for at, value in pairs)

    def firing(self) -> dict[str, float]:
        """Since when each alert is active, in seconds, by its name and feed."""
        return {
            f"{each['labels']['alertname']} {each['labels'].get('feed', '')}".strip(): _seconds(
                each["activeAt"]
            )
            for each in self._asked("alerts")["alerts"]
            if each["state"] == "firing"
        }

    def _asked(self, path: str, **words: str) -> Any:
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def _is_ready(self) -> bool:
        if self._process.exit_code is not None:
            raise ServerFailed("Prometheus has ended", self._log)
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _why(self) -> str:
        return str(ServerFailed("Prometheus did not answer in time", self._log))


def _seconds(text: str) -> float:
    head, _, rest = text.partition(".")
    return datetime.fromisoformat(f"{head}.{rest.rstrip('Z')[:6]:0<6}+00:00").timestamp()


def eventually(
    look: Callable[[], T], fits: Callable[[T], object], why: Callable[[], str] = lambda: ""
) -> T:
    """Look again and again until what is seen fits; how long that takes says nothing."""
    end = time.monotonic() + PATIENCE_S
    while True:
        seen = look()
        if fits(seen):
            return seen
        assert time.monotonic() < end, why() or f"still {seen!r}"
        time.sleep(0.1)
