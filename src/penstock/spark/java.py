"""Finds a Java for Spark: `python -m penstock.spark.java` prints it, or what is wrong."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from penstock.config import places
from penstock.errors import PenstockError
from penstock.spark.errors import JavaMissing, JavaWrong

SUPPORTED = frozenset({17, 21})
_ANSWER_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Java:
    """A java program that was run once, and its feature version."""

    path: Path
    version: int


def find_java(home: Path | None, search: str | None = None) -> Java:
    """Return the java of `home`, or the first one on the search path; run it once to check it.

    A given `home` is always used, because Spark would use it too. `search` replaces PATH. Starts a
    JVM for a moment, the first time; safe to repeat.
    """
    path = _path(home, search)
    version = _version(path, path.stat().st_mtime_ns)
    if version not in SUPPORTED:
        raise JavaWrong(path, version)
    return Java(path, version)


def parse_version(text: str) -> int | None:
    """Return the feature version in the output of `java -version`; None if there is none.

    Before Java 9 it is the second number: `1.8.0_402` is Java 8.
    """
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    first, second = int(found[1]), int(found[2] or 0)
    return second if first == 1 else first


def main() -> int:
    """Print path and version of the Java that would be used, or an error with exit code 2."""
    try:
        java = find_java(places.java_home())
    except PenstockError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(f"{java.path} {java.version}\n")
    return 0


def _path(home: Path | None, search: str | None) -> Path:
    if home is not None:
        path = home / "bin" / "java"
        if not path.is_file():
            raise JavaMissing(f"JAVA_HOME, which is {str(home)!r},", "has no bin/java")
        return path
    found = shutil.which("java", path=search)
    if found is None:
        raise JavaMissing("this machine", "has no java on its PATH, and JAVA_HOME is not set")
    return Path(found)


@lru_cache(maxsize=8)
def _version(path: Path, _changed_ns: int) -> int:
    """What a program says; asked once as long as the file stays as it is."""
    try:
        ran = subprocess.run(  # noqa: S603 -- the program that the user has chosen
            [path, "-version"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaMissing(str(path), f"does not run ({error})") from error
    version = parse_version(ran.stderr + ran.stdout)
    if ran.returncode != 0 or version is None:
        said = (ran.stderr + ran.stdout).strip()[-200:]
        raise JavaMissing(str(path), f"does not print its version ({said!r})")
    return version


if __name__ == "__main__":
    sys.exit(main())
