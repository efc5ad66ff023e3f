"""Runs a `penstock` command as a child process group, and reads its output."""

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

    It has its own process group, and never outlives this process.
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
        """The JSON lines written since the last call."""
        with self.log.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]  # the last line may be incomplete
        self._read += len(whole)
        return [told for line in whole.splitlines() if (told := _json_object(line)) is not None]

    def kill(self) -> None:
        """SIGKILL to the whole group."""
        self._process.kill()

    def stop(self) -> None:
        """Terminate it, then kill it. Safe to repeat."""
        self._process.stop()


def time_of(event: dict[str, Any]) -> float:
    """The time of an event, in seconds."""
    return datetime.fromisoformat(event["at"]).timestamp()


def _json_object(line: bytes) -> dict[str, Any] | None:
    """A JSON object, or None for other lines, such as Spark's."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
