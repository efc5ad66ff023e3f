"""A lake seen from outside while a run works in it: plain files, none of the pipeline's code."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True)
class Sight:
    """What lies in a lake at one moment: windows by how far they are, and what readers see."""

    done: tuple[str, ...]
    decided: tuple[str, ...]
    staging: tuple[str, ...]
    staged_files: int
    visible_rows: int = 0

    @property
    def in_flight(self) -> str:
        """The window that is being staged, and not decided yet; empty when there is none."""
        known = {*self.done, *self.decided}
        return next((window for window in reversed(self.staging) if window not in known), "")


class Onlooker:
    """Looks at one feed of a local lake, again and again. Entries never change, so each is read
    once."""

    def __init__(self, lake: Path, feed: str) -> None:
        self._own = lake / "_penstock" / feed
        self._data = lake / feed
        self._windows: dict[str, str] = {}  # entry number -> window; others have an empty one

    def look(self) -> Sight:
        """Windows and staged files, cheaply.

        Staged files first: what is decided a moment later is then not taken for undecided.
        """
        # Files come and go below; a walk does not mind, a glob may.
        walked = os.walk(self._own / "staging")
        staged = [
            Path(folder).name
            for folder, _, names in walked
            for name in names
            if name.endswith(".staged")
        ]
        for entry in sorted((self._own / "journal").glob("*/*.json")):
            if entry.stem not in self._windows:
                self._windows[entry.stem] = _window_of(entry)
        marked = {path.stem for path in (self._own / "done").glob("*/*.json")}
        decided = {number: window for number, window in self._windows.items() if window}
        return Sight(
            done=tuple(window for number, window in decided.items() if number in marked),
            decided=tuple(window for number, window in decided.items() if number not in marked),
            staging=tuple(sorted(set(staged), key=_order)),
            staged_files=len(staged),
        )

    def look_closely(self) -> Sight:
        """The same, with the rows that a reader of the directories finds now."""
        sight = self.look()
        rows = sum(pq.read_metadata(path).num_rows for path in data_files(self._data))
        return Sight(sight.done, sight.decided, sight.staging, sight.staged_files, rows)


def data_files(feed: Path) -> list[Path]:
    """What a reader takes for data: nothing whose name, or whose folder's, begins with _ or ."""
    return sorted(
        path
        for path in feed.rglob("*.parquet")
        if not any(part.startswith(("_", ".")) for part in path.relative_to(feed).parts)
    )


def _window_of(entry: Path) -> str:
    body = json.loads(entry.read_bytes())["body"]
    return str(body["window"]) if body["kind"] == "window" else ""


def _order(window: str) -> tuple[int, ...]:
    return tuple(int(part) for part in window.split("-") if part.isdigit())
