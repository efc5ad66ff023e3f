"""Reading a file of a local disk piece by piece."""

import io
from typing import Any, BinaryIO, cast

from penstock.ports.store.os_errors import before_it_begins


def open_reader(key: str, file: io.FileIO) -> BinaryIO:
    """The open file under its key; errors of the disk become those of the store."""
    return cast(BinaryIO, LocalReader(key, file))


class LocalReader(io.RawIOBase):
    """An open file whose errors name the key it lies under. Used by one thread."""

    def __init__(self, key: str, file: io.FileIO) -> None:
        self._key = key
        self._file = file

    def readinto(self, buffer: Any) -> int | None:
        """Fill a buffer; returns how many bytes there were."""
        with before_it_begins("read", self._key):
            return self._file.readinto(buffer)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go somewhere else."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Where the next read begins."""
        return self._file.tell()

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def close(self) -> None:
        """Let go of the file. Safe to repeat."""
        self._file.close()
        super().close()
