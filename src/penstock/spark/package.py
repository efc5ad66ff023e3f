"""This package as one file, so that the executors of a cluster run the same code as the driver."""

import zipfile
from importlib.resources import files
from pathlib import Path

from penstock import __version__

ROOT = Path(str(files("penstock")))


def package_zip(directory: Path) -> Path:
    """Write the package into a zip that Python can import from; returns where it lies."""
    target = directory / f"penstock-{__version__}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(ROOT.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, f"penstock/{file.relative_to(ROOT).as_posix()}")
    return target
