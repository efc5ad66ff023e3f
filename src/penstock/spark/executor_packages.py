"""Packs the Python packages that executors need, as one archive for `spark.archives`.

    python -m penstock.spark.executor_packages packages.tar.gz s3

They are those of this environment, in the same versions: what Penstock depends on, with the extras
that are named, and without what only a driver uses. Penstock itself is not among them, since a run
sends it; Spark brings its own part. Other distributions, such as plug-ins, are named with a `+`:
`+acme-penstock`.
"""

import argparse
import re
import sys
import tarfile
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

PENSTOCK = "penstock"
# Spark has its own on every host; the others compile schemas or answer over HTTP, on the driver.
NOT_ON_EXECUTORS = frozenset(
    {"pyspark", "py4j", "grpcio-tools", "prometheus-client", "starlette", "uvicorn"}
)
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")
_QUICK = 1  # most of it is machine code, which hardly gets smaller with more effort


def needed(names: Sequence[tuple[str, frozenset[str]]]) -> dict[str, Distribution]:
    """All distributions that these need with these extras, by name.

    One that a marker excludes on this machine is not installed, and so it is left out.
    """
    found: dict[str, Distribution] = {}
    asked: set[tuple[str, frozenset[str]]] = set()
    waiting = list(names)
    while waiting:
        name, extras = each = waiting.pop()
        if each in asked or name in NOT_ON_EXECUTORS:
            continue
        asked.add(each)
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        waiting += _requirements(found[name], extras)
    return found


def _requirements(of: Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """What a distribution requires with these extras; names as package indexes write them."""
    for line in of.requires or ():
        wanted, _, marker = line.partition(";")
        only_for = set(_EXTRA.findall(marker))
        parts = _REQUIREMENT.match(wanted)
        if parts is not None and (not only_for or only_for & extras):
            theirs = frozenset(word.strip() for word in (parts[2] or "").split(",") if word.strip())
            yield normal(parts[1]), theirs


def normal(name: str) -> str:
    """A name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pack(target: Path, packages: Sequence[Distribution]) -> int:
    """Write an archive of their files, as they lie below `site-packages`; returns how many."""
    mode = "w:gz" if target.name.endswith(("gz", ".tgz")) else "w"
    count = 0
    options = {"compresslevel": _QUICK} if mode == "w:gz" else {}
    with tarfile.open(target, mode, **options) as archive:  # type: ignore[call-overload]
        for package in packages:
            for file in package.files or ():
                path = Path(str(package.locate_file(file)))
                if ".." not in file.parts and path.suffix != ".pyc" and path.is_file():
                    archive.add(path, arcname=file.as_posix(), recursive=False)
                    count += 1
    return count


def main(words: Sequence[str]) -> int:
    """The program: pack, and say what is in it."""
    parser = argparse.ArgumentParser(
        prog="python -m penstock.spark.executor_packages", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("archive", type=Path, help="a new file: .tar.gz, .tgz or .tar")
    parser.add_argument("more", nargs="*", help="extras (s3), and +DISTRIBUTION for plug-ins")
    chosen = parser.parse_args(words)
    extras = frozenset(word for word in chosen.more if not word.startswith("+"))
    plugins = [normal(word[1:]) for word in chosen.more if word.startswith("+")]
    unknown = sorted(extras - set(distribution(PENSTOCK).metadata.get_all("Provides-Extra") or ()))
    packages = needed([(PENSTOCK, extras), *((each, frozenset()) for each in plugins)])
    absent = [*unknown, *(each for each in plugins if each not in packages)]
    if absent:
        parser.error(f"neither an extra nor an installed distribution: {', '.join(absent)}")
    packages.pop(PENSTOCK)
    count = pack(chosen.archive, list(packages.values()))
    listed = ", ".join(f"{name} {each.version}" for name, each in sorted(packages.items()))
    sys.stdout.write(f"{count} files of {len(packages)} packages: {listed}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
