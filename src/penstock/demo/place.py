"""The directory of a demo: what it holds, and when an old one may be replaced."""

import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.demo.errors import DemoRefused

TOPIC = "events"
FEED = "events"
_MARKER = ".penstock-demo"
_MADE = "made"
_PID = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)  # kill takes no longer ones, and 0 means oneself
_DIRECTORIES = frozenset({"kafka", "lake", "schemas"})
_FILES = frozenset({"penstock.yaml", "run-1.log", "run-2.log", "audit.log", "demo.html"})

_CONFIG = """\
# The demo's own configuration. `penstock init` writes one with every key explained.
version: 1
lake: ./lake
kafka:
  bootstrap.servers: "{bootstrap}"
spark:
  spark.master: "local[2]"
  # For a life of seconds: a JVM that starts quickly, not one that ends up fastest.
  spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
feeds:
  {feed}:
    topics: [{topic}]
    decode: {{format: json}}
    route: {{by: "field:type"}}
    datasets:
      payment: {{schema: schemas/payment.avsc, owner: finance}}
    time: {{field: event_time, unit: ms}}
    partition: [day]
    window: {{max_records: {max_records}}}   # small, so that there are several to look at
"""


# The one type whose schema is declared; the other five are learned from the events.
_PAYMENT = """{
  "type": "record", "name": "payment", "fields": [
    {"name": "type", "type": "string"},
    {"name": "event_time", "type": "long"},
    {"name": "id", "type": "long"},
    {"name": "user_id", "type": "long"},
    {"name": "method", "type": "string"},
    {"name": "amount", "type": "double"},
    {"name": "ok", "type": "boolean"},
    {"name": "card", "type": ["null", {"type": "record", "name": "card", "fields": [
      {"name": "brand", "type": "string"}, {"name": "country", "type": "string"}]}],
     "default": null}
  ]
}
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parts of a demo lie. All of it is below `root`, and ours."""

    root: Path

    @property
    def lake(self) -> Path:
        """The lake."""
        return self.root / "lake"

    @property
    def kafka(self) -> Path:
        """What the broker writes."""
        return self.root / "kafka"

    @property
    def config(self) -> Path:
        """The configuration of the feed."""
        return self.root / "penstock.yaml"

    @property
    def page(self) -> Path:
        """The page with the pictures."""
        return self.root / "demo.html"

    def log(self, name: str) -> Path:
        """What a child has printed."""
        return self.root / f"{name}.log"

    def shown(self) -> str:
        """The directory as the user would type it from here."""
        try:
            relative = os.path.relpath(self.root)
        except (ValueError, OSError):  # another drive, or the directory one stands in is gone
            return str(self.root)
        return str(self.root) if relative.startswith("..") else relative

    def write_config(self, bootstrap: str, max_records: int) -> None:
        """Write penstock.yaml, and the one schema that is declared."""
        text = _CONFIG.format(bootstrap=bootstrap, feed=FEED, topic=TOPIC, max_records=max_records)
        (self.root / "schemas").mkdir(exist_ok=True)
        (self.root / "schemas" / "payment.avsc").write_text(_PAYMENT)
        self.config.write_text(text)

    def let_go(self) -> None:
        """Say that no demo runs here any more: process ids are given again. Safe to repeat."""
        words = [word for word in _marker_words(self.root) if not _PID.fullmatch(word)]
        if _is_ours(self.root / _MARKER):
            with suppress(OSError):  # then the marker is as that of a demo that was killed
                (self.root / _MARKER).write_text(" ".join(words) + "\n")

    def empty(self) -> None:
        """Remove all that the demo has made but the marker: half a demo is still ours."""
        for path in (self.root / name for name in sorted(_DIRECTORIES | _FILES)):
            if not _is_ours(path):
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def remove(self) -> str:
        """The same with the marker and the directory; the answer says why that one stays, if so.

        A directory that was there before the first demo is not ours to remove.
        """
        was_made = _MADE in _marker_words(self.root)
        self.empty()
        (self.root / _MARKER).unlink(missing_ok=True)
        if not was_made:
            return "was there before it, and stays"
        try:
            self.root.rmdir()
        except OSError as error:
            if any(self.root.iterdir()):
                return "is not empty, and stays"
            return f"cannot be removed: {reason(error)}"
        return ""


def prepare(directory: Path) -> tuple[Place, bool]:
    """Make the directory; the second value says whether an old demo was removed for it.

    A directory that holds anything else is never touched. One that is there stays, even while an
    old demo makes room: it may be a link, a mount point, or where the user stands.
    """
    replaced = False
    try:
        place = Place(directory.absolute())
        found = sorted(place.root.iterdir()) if place.root.exists() else []
        was_made = not place.root.exists()
        if found:
            _refuse_strangers(place.root, found)
            _refuse_if_in_use(place.root)
            was_made = _MADE in _marker_words(place.root)
            place.empty()
            replaced = True
        place.root.mkdir(parents=True, exist_ok=True)
        words = [str(os.getpid()), *[_MADE] * was_made]
        (place.root / _MARKER).write_text(" ".join(words) + "\n")
    except OSError as error:
        raise DemoRefused(
            f"The directory {str(directory)!r} cannot be used: {reason(error)}.",
            "Nothing was started. Choose another one with --dir.",
        ) from error
    return place, replaced


def reason(error: OSError) -> str:
    """What the system says, or what Python says where the system says nothing."""
    return error.strerror or str(error)


def _is_ours(path: Path) -> bool:
    """Whether a demo has made this: no demo makes links, mounts, or a file where a lake lies."""
    if path.is_symlink() or path.is_mount():
        return False
    if path.name in _DIRECTORIES:
        return path.is_dir()
    return path.name in _FILES | {_MARKER} and path.is_file()


def _refuse_strangers(root: Path, found: list[Path]) -> None:
    has_marker = _is_ours(root / _MARKER)
    strangers = [path.name for path in found if not (has_marker and _is_ours(path))]
    if strangers:
        some = ", ".join(strangers[:3]) + (", ..." if len(strangers) > 3 else "")
        raise DemoRefused(
            f"The directory {str(root)!r} is not empty, and not only a demo lies in it: {some}.",
            "Nothing was touched. Choose another one with --dir, or empty it.",
        )


def _refuse_if_in_use(root: Path) -> None:
    """Two demos in one directory would remove each other's lake."""
    pids = [int(word) for word in _marker_words(root) if _PID.fullmatch(word)]
    if not pids or pids[0] == os.getpid():
        return
    try:
        os.kill(pids[0], 0)
    except ProcessLookupError:
        return
    except PermissionError:
        pass  # somebody else's, so it is there
    raise DemoRefused(
        f"A demo runs in {str(root)!r} already, as process {pids[0]}.",
        "Choose another directory with --dir, or wait for it.",
    )


def _marker_words(root: Path) -> list[str]:
    """The process that runs there, if any, and whether a demo has made the directory."""
    path = root / _MARKER
    return path.read_text(encoding="utf-8", errors="replace").split() if _is_ours(path) else []
