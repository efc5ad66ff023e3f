"""The directory of a demo: its contents, and when an old one may be replaced."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from penstock.demo.errors import DemoRefused

TOPIC = "events"
FEED = "events"
_MARKER = ".penstock-demo"
_MADE = "made"
_PID = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)  # without 0, which means this process group
_DIRECTORIES = frozenset({"kafka", "lake", "schemas"})
_FILES = frozenset({"penstock.yaml", "run-1.log", "run-2.log", "audit.log", "demo.html"})

_CONFIG = """\
# The demo's own configuration. `penstock init` writes one with every key explained.
version: 1
lake: {lake}
{store}kafka:
  bootstrap.servers: "{bootstrap}"
spark:
  spark.master: "local[2]"
  # For a short run: a JVM that starts quickly, not one with the highest speed.
  spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
feeds:
  {feed}:
    topics: [{topic}]
    decode: {{format: json}}
    route: {{by: "field:type"}}
    datasets:
      payment: {{schema: schemas/payment.avsc, team: finance}}
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
    """The paths of a demo. Everything below `root` belongs to the demo."""

    root: Path
    lake_uri: str = ""  # of a lake that is not below `root`
    store: tuple[tuple[str, str], ...] = ()  # the settings of its store
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)  # what they may refer to

    @property
    def lake(self) -> Path:
        """The lake."""
        return self.root / "lake"

    @property
    def kafka(self) -> Path:
        """The directory of the broker."""
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
        """The log file of a child."""
        return self.root / f"{name}.log"

    def shown(self) -> str:
        """The directory as the user would type it from here."""
        try:
            relative = os.path.relpath(self.root)
        except (ValueError, OSError):  # another drive, or the current directory is gone
            return str(self.root)
        return str(self.root) if relative.startswith("..") else relative

    def write_config(self, bootstrap: str, max_records: int) -> None:
        """Write penstock.yaml, and the one schema that is declared."""
        settings = "".join(f"  {key}: {json.dumps(word)}\n" for key, word in self.store)
        text = _CONFIG.format(
            lake=json.dumps(self.lake_uri) if self.lake_uri else "./lake",
            store=f"store:\n{settings}" if settings else "",
            bootstrap=bootstrap,
            feed=FEED,
            topic=TOPIC,
            max_records=max_records,
        )
        (self.root / "schemas").mkdir(exist_ok=True)
        (self.root / "schemas" / "payment.avsc").write_text(_PAYMENT)
        self.config.write_text(text)

    def let_go(self) -> None:
        """Record that no demo runs here, because process ids are reused. Safe to repeat."""
        words = [word for word in _marker_words(self.root) if not _PID.fullmatch(word)]
        if _is_ours(self.root / _MARKER):
            with suppress(OSError):  # then the marker looks like that of a killed demo
                (self.root / _MARKER).write_text(" ".join(words) + "\n")

    def empty(self) -> None:
        """Remove the demo's files, but keep the marker that identifies the demo."""
        for path in (self.root / name for name in sorted(_DIRECTORIES | _FILES)):
            if not _is_ours(path):
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def remove(self) -> str:
        """Also remove the marker and the directory; returns why the directory stays, if it does.

        A directory that existed before the first demo is not removed.
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
    """Create the directory; the second value says whether an old demo was removed.

    A directory with other files is never changed. An existing directory stays when an old demo is
    removed: it may be a link, a mount point, or the current directory.
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
    """The message of the system, or else of Python."""
    return error.strerror or str(error)


def _is_ours(path: Path) -> bool:
    """Whether a demo created this: no demo creates links, mounts, or a file in place of a lake."""
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
            f"The directory {str(root)!r} is not empty, and has other files than those of a demo: "
            f"{some}.",
            "Nothing was changed. Choose another one with --dir, or empty it.",
        )


def _refuse_if_in_use(root: Path) -> None:
    """Refuse a directory in which a demo runs: two demos would remove each other's lake."""
    pids = [int(word) for word in _marker_words(root) if _PID.fullmatch(word)]
    if not pids or pids[0] == os.getpid():
        return
    try:
        os.kill(pids[0], 0)
    except ProcessLookupError:
        return
    except PermissionError:
        pass  # it belongs to another user, so it exists
    raise DemoRefused(
        f"A demo runs in {str(root)!r} already, as process {pids[0]}.",
        "Nothing was changed. Choose another directory with --dir, or wait until it ends.",
    )


def _marker_words(root: Path) -> list[str]:
    """The process that runs there, if any, and whether a demo created the directory."""
    path = root / _MARKER
    return path.read_text(encoding="utf-8", errors="replace").split() if _is_ours(path) else []
