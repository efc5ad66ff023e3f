"""A repository of jars on the local disk, with a lock that pins them."""

import hashlib
from pathlib import Path

from penstock.config import places
from penstock.spark.ivy import Coordinates, Report
from penstock.spark.jars import (
    Lock,
    PinnedJar,
    fetch,
)

FILES = {
    Coordinates("org.example", "one", "1.0"): b"the first jar",
    Coordinates("org.example", "one", "2.0"): b"another version of it",
    Coordinates("org.example", "two", "1.0"): b"beside one with a classifier",
    Coordinates("org.example", "two", "1.0", "linux"): b"a jar with a classifier",
    Coordinates("org.example", "three", "1.0", ext="zip"): b"an archive",
    Coordinates("org.example", "three", "1.0", "all", "tar.gz"): b"another one with a classifier",
}


def lock_of(files: dict[Coordinates, bytes]) -> Lock:
    """Pin these files, under the group `example`."""
    pinned = (PinnedJar(jar, hashlib.sha256(data).hexdigest()) for jar, data in files.items())
    return {"example": tuple(pinned)}


def filled(cache: Path) -> Path:
    """A cache that holds every file."""
    for jar, data in FILES.items():
        (cache / jar.file).parent.mkdir(parents=True, exist_ok=True)
        (cache / jar.file).write_bytes(data)
    return cache


def repository(directory: Path, files: dict[Coordinates, bytes]) -> Path:
    """Lay `files` out as a repository; return a settings file that leads there and nowhere else."""
    for jar, data in files.items():
        (directory / "repository" / jar.file).parent.mkdir(parents=True, exist_ok=True)
        (directory / "repository" / jar.file).write_bytes(data)
    pattern = "[organisation]/[artifact]-[revision](-[classifier]).[ext]"
    resolver = (
        '<filesystem name="here">'
        f'<artifact pattern="{directory}/repository/{pattern}"/></filesystem>'
    )
    settings = directory / "settings.xml"
    settings.write_text(ivy_settings("here", resolver))
    return settings


def ivy_settings(name: str, resolver: str) -> str:
    return (
        f'<ivysettings><settings defaultResolver="{name}"/>'
        f"<resolvers>{resolver}</resolvers></ivysettings>"
    )


def fetch_from(settings: Path, cache: Path, report: Report = lambda _: None) -> list[PinnedJar]:
    """Fetch all of FILES by the settings, with the Java of this machine."""
    home = places.java_home()
    return fetch(["example"], cache, settings, java_home=home, report=report, lock=lock_of(FILES))
