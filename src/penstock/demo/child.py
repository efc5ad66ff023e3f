"""A `penstock` command as a child process group, with what it tells."""

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from penstock.demo.place import Place
from penstock.testing.servers import GuardedProcess


class Child:
    """Runs `python -m penstock ...` in the demo's directory; its output goes to a file.

    It leads a process group of its own, and never outlives this process.
    """

    def __init__(self, place: Place, words: Sequence[str], name: str) -> None:
        self.log: Path = place.log(name)
        self._read = 0
        command = [sys.executable, "-m", "penstock", *words, "-c", str(place.config)]
        self._process = GuardedProcess(command, place.root, self.log)

    @property
    def pid(self) -> int:
        """The process, which is also its group."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.exit_code

    def news(self) -> list[dict[str, Any]]:
        """The JSON lines that it has written since the last call."""
        with self.log.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]  # the last line may still be growing
        self._read += len(whole)
        return [told for line in whole.splitlines() if (told := _told(line)) is not None]

    def kill(self) -> None:
        """SIGKILL to the whole group."""
        self._process.kill()

    def stop(self) -> None:
        """End it, politely first. Safe to repeat."""
        self._process.stop()


def time_of(event: dict[str, Any]) -> float:
    """When an event was told, in seconds."""
    return datetime.fromisoformat(event["at"]).timestamp()


def _told(line: bytes) -> dict[str, Any] | None:
    """A JSON object, or None: Spark's own words are not ours to read."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
