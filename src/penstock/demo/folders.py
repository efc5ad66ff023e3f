"""A directory of a lake as any reader of Parquet sees it: on this machine, or in a bucket."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem

_SUFFIX = ".parquet"


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory, read by pyarrow alone: nothing of a store is used."""

    files: FileSystem
    path: str

    def __truediv__(self, name: str) -> "Folder":
        return Folder(self.files, f"{self.path}/{name}")

    def parquet(self) -> list[str]:
        """The names of all Parquet files below it, in order; none where there is no directory."""
        found = self.files.get_file_info(
            FileSelector(self.path, allow_not_found=True, recursive=True)
        )
        names = (each.path.removeprefix(f"{self.path}/") for each in found if each.is_file)
        return sorted(name for name in names if name.endswith(_SUFFIX))

    def data(self) -> list[str]:
        """Those that a reader treats as data: no name or directory that begins with _ or ."""
        return [
            name
            for name in self.parquet()
            if not any(part.startswith(("_", ".")) for part in name.split("/"))
        ]

    def open(self, name: str) -> Any:  # a ParquetFile, for which there are no types
        """One file, to read."""
        return pq.ParquetFile(f"{self.path}/{name}", filesystem=self.files)

    def rows(self) -> int:
        """How many rows a reader finds."""
        return sum(self.open(name).metadata.num_rows for name in self.data())


def local_folder(path: Path) -> Folder:
    """A directory of this machine."""
    return Folder(LocalFileSystem(), path.as_posix())
