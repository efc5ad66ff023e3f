"""Observes a lake while a run works in it: plain files, without the pipeline's code."""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from penstock.demo.folders import local_folder


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


class Onlooker(Protocol):
    """Observes one feed of a lake repeatedly."""

    @property
    def pause_s(self) -> float:
        """How long to wait between two looks."""
        ...

    def look(self) -> Sight:
        """Windows and staged files, without reading rows."""
        ...

    def look_closely(self) -> Sight:
        """The same, with the number of rows that a reader of the directories sees now."""
        ...


class DirectoryOnlooker:
    """Observes one feed of a local lake repeatedly. Entries never change, so each is read once."""

    pause_s = 0.005

    def __init__(self, lake: Path, feed: str) -> None:
        self._own = lake / "_penstock" / feed
        self._data = local_folder(lake / feed)
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
                self._windows[entry.stem] = window_in_entry(entry.read_bytes())
        marked = {path.stem for path in (self._own / "done").glob("*/*.json")}
        return sight_of(staged, self._windows, marked)

    def look_closely(self) -> Sight:
        """The same, with the number of rows that a reader of the directories sees now."""
        return replace(self.look(), visible_rows=self._data.rows())


def sight_of(staged: Sequence[str], windows: Mapping[str, str], marked: Collection[str]) -> Sight:
    """What was seen, from the windows of staged files and of entries, and the entries done."""
    decided = {number: window for number, window in windows.items() if window}
    return Sight(
        done=tuple(window for number, window in decided.items() if number in marked),
        decided=tuple(window for number, window in decided.items() if number not in marked),
        staging=tuple(sorted(set(staged), key=_order)),
        staged_files=len(staged),
    )


def window_in_entry(entry: bytes) -> str:
    """The window that an entry of the journal decides; empty for other kinds."""
    body = json.loads(entry)["body"]
    return str(body["window"]) if body["kind"] == "window" else ""


def _order(window: str) -> tuple[int, ...]:
    return tuple(int(part) for part in window.split("-") if part.isdigit())
