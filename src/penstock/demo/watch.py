"""Observes a lake while a run works in it: plain files, without the pipeline's code."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True)
class Sight:
    """The state of a lake at one moment: windows by progress, and what readers see."""

    done: tuple[str, ...]
    decided: tuple[str, ...]
    staging: tuple[str, ...]
    staged_files: int
    visible_rows: int = 0

    @property
    def in_flight(self) -> str:
        """The window that is staged and not decided yet; empty if there is none."""
        known = {*self.done, *self.decided}
        return next((window for window in reversed(self.staging) if window not in known), "")


class Onlooker:
    """Observes one feed of a local lake repeatedly. Entries never change, so each is read once."""

    def __init__(self, lake: Path, feed: str) -> None:
        self._own = lake / "_penstock" / feed
        self._data = lake / feed
        self._windows: dict[str, str] = {}  # entry number -> window; empty for other kinds

    def look(self) -> Sight:
        """Windows and staged files, without reading rows.

        Staged files are listed first, so a window that is decided a moment later is recognised.
        """
        # Files come and go meanwhile; a walk can handle that, a glob may not.
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
        """The same, with the number of rows that a reader of the directories sees now."""
        sight = self.look()
        rows = sum(pq.read_metadata(path).num_rows for path in data_files(self._data))
        return Sight(sight.done, sight.decided, sight.staging, sight.staged_files, rows)


def data_files(feed: Path) -> list[Path]:
    """The files that a reader treats as data: no name or directory that begins with _ or ."""
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
