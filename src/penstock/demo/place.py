"""The directory of a demo: what it holds, and when an old one may be replaced."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from penstock.demo.errors import DemoRefused

TOPIC = "events"
FEED = "events"
_MARKER = ".penstock-demo"
_OURS = {
    _MARKER, "kafka", "lake", "schemas", "penstock.yaml", "run-1.log", "run-2.log", "audit.log",
    "demo.html",
}  # fmt: skip

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
        except ValueError:
            return str(self.root)
        return str(self.root) if relative.startswith("..") else relative

    def write_config(self, bootstrap: str, max_records: int) -> None:
        """Write penstock.yaml, and the one schema that is declared."""
        text = _CONFIG.format(bootstrap=bootstrap, feed=FEED, topic=TOPIC, max_records=max_records)
        (self.root / "schemas").mkdir(exist_ok=True)
        (self.root / "schemas" / "payment.avsc").write_text(_PAYMENT)
        self.config.write_text(text)

    def remove(self) -> None:
        """Remove all that the demo has made. The marker goes last: half a demo is still ours."""
        for name in sorted(_OURS - {_MARKER}):
            path = self.root / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        (self.root / _MARKER).unlink(missing_ok=True)
        self.root.rmdir()


def prepare(directory: Path) -> tuple[Place, bool]:
    """Make the directory; the second value says whether an old demo was removed for it.

    A directory that holds anything else is never touched.
    """
    place = Place(directory.absolute())
    replaced = False
    try:
        found = {path.name for path in place.root.iterdir()} if place.root.exists() else set()
        if found:
            _refuse_strangers(place.root, found)
            _refuse_if_in_use(place.root)
            place.remove()
            replaced = True
        place.root.mkdir(parents=True, exist_ok=True)
        (place.root / _MARKER).write_text(f"{os.getpid()}\n")
    except OSError as error:
        raise DemoRefused(
            f"The directory {str(directory)!r} cannot be used: {error.strerror}.",
            "Nothing was started. Choose another one with --dir.",
        ) from error
    return place, replaced


def _refuse_strangers(root: Path, found: set[str]) -> None:
    strangers = sorted(found - _OURS) if _MARKER in found else sorted(found)
    if strangers:
        some = ", ".join(strangers[:3]) + (", ..." if len(strangers) > 3 else "")
        raise DemoRefused(
            f"The directory {str(root)!r} is not empty, and not only a demo lies in it: {some}.",
            "Nothing was touched. Choose another one with --dir, or empty it.",
        )


def _refuse_if_in_use(root: Path) -> None:
    """Two demos in one directory would remove each other's lake."""
    text = (root / _MARKER).read_text().strip()
    if not text.isdigit() or int(text) == os.getpid():
        return
    try:
        os.kill(int(text), 0)
    except (ProcessLookupError, PermissionError):
        return
    raise DemoRefused(
        f"A demo runs in {str(root)!r} already, as process {text}.",
        "Choose another directory with --dir, or wait for it.",
    )
