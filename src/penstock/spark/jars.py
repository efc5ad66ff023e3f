"""The pinned jars: their list, their cache, and how they are fetched.

`jars.lock` in this package names every jar with its SHA-256. A jar is used only from the cache and
only after its checksum was verified. On the command line this is `penstock jars`; the set-up calls
`python -m penstock.spark.jars`, which imports less and does the same.
"""

import argparse
import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TextIO

from penstock.api.later import Later
from penstock.config import places
from penstock.errors import PenstockError
from penstock.model.plural import number_of
from penstock.spark.errors import JarChanged, JarsMissing, JarsUnreachable
from penstock.spark.ivy import Coordinates, Ivy, Progress, Report
from penstock.spark.java import find_java

CONNECTOR = "connector"
BROKER = "broker"
SPARK_AVRO = "avro"  # Spark's own Avro reader, for comparison in benchmarks and tests
REGISTRY = "registry"
STORAGE = "storage"
HDFS = "hdfs"
# What `fetch` fetches by default. Not included: three servers of 220 MB that only tests use.
_FOR_ALL = (BROKER, CONNECTOR)

_LINE = re.compile(
    r"(?P<group>[\w.-]+):(?P<artifact>[\w.-]+):(?P<version>[\w.-]+)(?::(?P<classifier>[\w.-]+))?"
    r"(?:@(?P<ext>[a-z0-9]+(?:\.[a-z0-9]+)*))? (?P<sha256>[0-9a-f]{64})",
    re.ASCII,
)

FETCH_DESCRIPTION = """\
Fetch the pinned jars that are not in the cache yet. The settings file is Ivy's own, for a mirror or
a closed network. Without a network, copy the cache directory from a machine that has them.
"""


@dataclass(frozen=True, slots=True)
class PinnedJar:
    """One line of the lock."""

    coordinates: Coordinates
    sha256: str

    def path(self, cache: Path) -> Path:
        """Its path in the cache."""
        return cache / self.coordinates.file


Lock = Mapping[str, tuple[PinnedJar, ...]]


def parse_lock(text: str) -> Lock:
    """Return the jars of each group, in the order of the file; raise for an invalid line."""
    groups: dict[str, list[PinnedJar]] = {}
    jars: list[PinnedJar] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if heading := re.fullmatch(r"\[([a-z]+)\]", line):
            jars = groups.setdefault(heading[1], [])
        elif (found := _LINE.fullmatch(line)) and jars is not None:
            jars.append(_pinned(found))
        else:
            raise ValueError(f"line {number} of the jar lock is neither [group] nor a jar: {line}")
    return {group: tuple(jars) for group, jars in groups.items()}


def read_lock() -> Lock:
    """Return the lock that ships with this package."""
    return parse_lock((files("penstock") / "jars.lock").read_text(encoding="utf-8"))


def jar_paths(group: str, cache: Path, lock: Lock | None = None) -> list[Path]:
    """Return the jars of one group from the cache, each verified. Starts nothing.

    Raises JarsMissing when they were not fetched yet and JarChanged when one was altered.
    """
    jars = (lock or read_lock())[group]
    absent = [str(jar.coordinates) for jar in jars if not jar.path(cache).is_file()]
    if absent:
        raise JarsMissing(absent, cache)
    for jar in jars:
        _verify(jar, jar.path(cache), f"in {str(cache)!r}")
    return [jar.path(cache) for jar in jars]


def fetch(
    groups: Iterable[str],
    cache: Path,
    settings: Path | None = None,
    *,
    java_home: Path | None = None,
    java_options: Sequence[str] = (),
    report: Report = lambda _: None,
    lock: Lock | None = None,
) -> list[PinnedJar]:
    """Fetch missing and damaged jars into the cache; return what was fetched.

    `settings` is the user's Ivy settings file, for mirrors and closed networks. Safe to repeat, and
    safe while other processes do the same: jars are fetched into a separate directory, verified,
    and renamed into place. If everything is in the cache, neither Java nor Ivy runs.
    """
    known = lock or read_lock()
    wanted = {jar.coordinates: jar for group in groups for jar in known[group]}
    missing = [jar for jar in wanted.values() if not _is_good(jar, cache)]
    if missing:
        ivy = Ivy(find_java(java_home).path, tuple(java_options), settings)
        _bring(missing, cache, ivy, report)
    return missing


def main(arguments: Sequence[str] | None = None) -> int:
    """List or fetch; print data to stdout, progress and errors to stderr."""
    parser = argparse.ArgumentParser("python -m penstock.spark.jars")
    add_acts(parser, parser.prog)
    asked = parser.parse_args(arguments)
    try:
        code: int = asked.command(asked)
    except PenstockError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return code


def add_acts(parser: argparse.ArgumentParser, name: str) -> None:
    """Add `list` and `fetch` to the parser; `name` is the command in their examples."""
    parser.description = "List the pinned jars, or fetch those that are not in the cache yet."
    parser.epilog = f"example: {name} fetch --group connector --settings ivysettings.xml"
    acts = parser.add_subparsers(title="acts", required=True, metavar="ACT")
    listing = acts.add_parser(
        "list",
        help="list the pinned jars, and whether they are in the cache",
        description="One line per jar: group, cached or absent, coordinates, SHA-256.",
        epilog=f"example: {name} list --output json",
    )
    fetching = acts.add_parser(
        "fetch",
        help="fetch the jars that are not in the cache yet",
        description=FETCH_DESCRIPTION,
        epilog=f"example: {name} fetch --settings ivysettings.xml",
    )
    for act in (listing, fetching):
        act.add_argument(
            "--group", action="append", choices=sorted(read_lock()), help="only this group"
        )
        act.add_argument("--cache", type=Path, metavar="DIR", help="another directory for the jars")
    listing.add_argument("--output", choices=("text", "json"), default="text", help="text or json")
    fetching.add_argument("--settings", type=Path, metavar="FILE", help="an Ivy settings file")
    listing.set_defaults(command=Later("penstock.spark.jars:run_list"))
    fetching.set_defaults(command=Later("penstock.spark.jars:run_fetch"))


class Teller:
    """Shows progress: one updated line on a terminal, a plain line from time to time elsewhere."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._changes_lines = out.isatty()

    def __call__(self, progress: Progress) -> None:
        """Show one step."""
        line = f"jars {progress.phase}: {progress.done} of {progress.total}"
        if self._changes_lines:
            self._out.write(f"\r\x1b[K{line}  {progress.name[:60]}")
        elif progress.done % 10 == 0 or progress.done == progress.total:
            self._out.write(f"{line}\n")
        self._out.flush()

    def close(self) -> None:
        """Leave the terminal on a fresh line."""
        if self._changes_lines:
            self._out.write("\r\x1b[K")
            self._out.flush()


def run_list(asked: argparse.Namespace) -> int:
    """Print the pinned jars."""
    lock, cache = read_lock(), asked.cache or places.jar_cache()
    for group in asked.group or sorted(lock):
        for jar in lock[group]:
            state = "cached" if _is_good(jar, cache) else "absent"
            facts = (group, state, str(jar.coordinates), jar.sha256)
            named = dict(zip(("group", "state", "jar", "sha256"), facts, strict=True))
            line = json.dumps(named) if asked.output == "json" else "\t".join(facts)
            sys.stdout.write(f"{line}\n")
    return 0


def run_fetch(asked: argparse.Namespace) -> int:
    """Fetch what is not in the cache, and print how many jars that were."""
    groups, cache = asked.group or _FOR_ALL, asked.cache or places.jar_cache()
    teller = Teller(sys.stderr)
    try:
        brought = fetch(
            groups,
            cache,
            asked.settings,
            java_home=places.java_home(),
            java_options=places.java_network_options(),
            report=teller,
        )
    finally:
        teller.close()
    sys.stdout.write(
        f"{number_of(len(brought), 'jar')} fetched into {cache}\n"
        if brought
        else f"all jars were in {cache} already\n"
    )
    return 0


def _pinned(found: re.Match[str]) -> PinnedJar:
    parts = {name: part for name, part in found.groupdict().items() if part is not None}
    sha256 = parts.pop("sha256")
    return PinnedJar(Coordinates(**parts), sha256)


def _bring(missing: Sequence[PinnedJar], cache: Path, ivy: Ivy, report: Report) -> None:
    """Fetch into a directory inside the cache, verify all, then move each jar into its place."""
    names = [str(jar.coordinates) for jar in missing]
    try:
        cache.mkdir(parents=True, exist_ok=True)
        directory = tempfile.TemporaryDirectory(prefix=".fetching-", dir=cache)
    except OSError as error:
        why = f"the cache {str(cache)!r} cannot be written: {error.strerror}"
        cure = "Let this user write there, or set XDG_CACHE_HOME to a directory where it may."
        raise JarsUnreachable(names, why, cure) from error
    with directory as work:
        arrived = ivy.retrieve([jar.coordinates for jar in missing], Path(work), report)
        absent = [str(jar.coordinates) for jar in missing if not jar.path(arrived).is_file()]
        if absent:
            raise JarsUnreachable(absent, "Ivy reported no error, but did not fetch them")
        for jar in missing:
            _verify(jar, jar.path(arrived), "that was just fetched")
        for jar in missing:
            jar.path(cache).parent.mkdir(exist_ok=True)
            jar.path(arrived).replace(jar.path(cache))


def _is_good(jar: PinnedJar, cache: Path) -> bool:
    path = jar.path(cache)
    return path.is_file() and _sha256(path) == jar.sha256


def _verify(jar: PinnedJar, path: Path, place: str) -> None:
    found = _sha256(path)
    if found != jar.sha256:
        raise JarChanged(str(jar.coordinates), jar.sha256, found, place)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    sys.exit(main())
