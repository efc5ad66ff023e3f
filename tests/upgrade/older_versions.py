"""What is kept of older versions in `tests/fixtures/`, ready to use."""

import tarfile
import zipfile
from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures"


def kept_versions() -> list[str]:
    """The versions of which a lake is kept, oldest first."""
    return sorted(path.name[5:-7] for path in FIXTURES.glob("lake-*.tar.xz"))


def unpacked_lake(version: str, directory: Path) -> Path:
    """A copy of the lake that a version has made; the lake's root."""
    with tarfile.open(FIXTURES / f"lake-{version}.tar.xz") as archive:
        archive.extractall(directory, filter="data")
    return directory / "lake"


def kept_entries(version: str) -> list[bytes]:
    """One sealed entry of every kind, as a version has written them."""
    return (FIXTURES / f"entries-{version}.jsonl").read_bytes().splitlines()


def unpacked_package(version: str, directory: Path) -> Path:
    """The package of a version; a directory to put on the path of a process."""
    with zipfile.ZipFile(FIXTURES / f"penstock-{version}-py3-none-any.whl") as wheel:
        wheel.extractall(directory)
    return directory
