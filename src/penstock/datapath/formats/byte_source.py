"""The bytes of a file from where it stands, fetched many at a time."""

from typing import BinaryIO

READ_BYTES = 1 << 20


class FileTooShort(ValueError):
    """A file that ends before it should."""


class ByteSource:
    """Gives the next bytes of a file. Used by one thread; `place` is how many it has given."""

    def __init__(self, file: BinaryIO, read_bytes: int = READ_BYTES) -> None:
        self._file = file
        self._read_bytes = read_bytes
        self._held = b""
        self._at = 0
        self.place = 0

    def take(self, size: int) -> bytes:
        """The next bytes; raises `FileTooShort` where there are not as many."""
        while len(self._held) - self._at < size:
            missing = size - (len(self._held) - self._at)
            more = self._file.read(max(self._read_bytes, missing))
            if not more:
                raise FileTooShort("it ends too early")
            self._held, self._at = self._held[self._at :] + more, 0
        found = self._held[self._at : self._at + size]
        self._at += size
        self.place += size
        return found
