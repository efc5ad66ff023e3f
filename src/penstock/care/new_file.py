"""A file that a command writes for its user: new, whole, and for its owner only."""

import os
from collections.abc import Iterable
from pathlib import Path

from penstock.care.errors import ExportRefused


def write_new_file(name: str, lines: Iterable[bytes]) -> int:
    """Write a file that was not there, for its owner only; returns the number of lines.

    The lines go to a file beside it first, so that a file of this name is whole. Raises
    `ExportRefused`, also if the file is there already.
    """
    path = Path(name)
    if path.exists():
        raise ExportRefused(name, "there is a file of this name already")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    count = 0
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for line in lines:
                    file.write(line)
                    count += 1
            os.link(unfinished, path)
        finally:
            unfinished.unlink()
    except FileExistsError as error:
        raise ExportRefused(name, "there is a file of this name already") from error
    except OSError as error:
        raise ExportRefused(name, error.strerror or str(error)) from error
    return count
