"""An object as a file to read and seek in: small ones whole, large ones in large ranges.

No range is asked for twice. Blocks that memory has no room for wait in an unnamed file of the
temporary directory, which is gone with the process.
"""

import io
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, BinaryIO, Protocol

from penstock.errors import StoreUnavailable

BLOCK_BYTES = 8 * 2**20
BUFFER_BYTES = 2**16  # small reads, such as those of a footer, are put together
BLOCKS = 8  # in memory: 64 MiB


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of an object, with the size and the tag of the whole."""

    data: bytes
    size_bytes: int
    tag: str


class GetsRanges(Protocol):
    """What asks an object store for pieces of an object."""

    def get_range(self, key: str, start: int, length: int, tag: str | None) -> Piece | None:
        """Bytes of an object, fewer at its end; None if nothing is there, or not with the tag."""
        ...


def open_object(requests: GetsRanges, key: str) -> BinaryIO | None:
    """The content of an object; None when nothing is there. Its first block is fetched at once."""
    first = requests.get_range(key, 0, BLOCK_BYTES, None)
    if first is None:
        return None
    return io.BufferedReader(ObjectFile(requests, key, first), BUFFER_BYTES)


class ObjectFile(io.RawIOBase):
    """One version of an object: when another one takes its place, reading fails.

    Used by one thread. Keeps the blocks that were read last, and earlier ones on disk.
    """

    def __init__(self, requests: GetsRanges, key: str, first: Piece) -> None:
        super().__init__()
        self._requests = requests
        self._key = key
        self._size_bytes = first.size_bytes
        self._tag = first.tag
        self._blocks: dict[int, bytes] = {0: first.data}
        self._spool: IO[bytes] | None = None
        self._spooled: set[int] = set()
        self._position = 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place; asks nothing of the store."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size_bytes}
        if offset + origin[whence] < 0:
            raise ValueError(f"a negative position in {self._key!r}")
        self._position = offset + origin[whence]
        return self._position

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        """Fill a buffer as far as the current block goes; 0 at the end."""
        if self._position >= self._size_bytes:
            return 0
        number, start = divmod(self._position, BLOCK_BYTES)
        piece = memoryview(self._block(number))[start : start + len(buffer)]
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def readall(self) -> bytes:
        """All that is left, block by block."""
        pieces = []
        while self._position < self._size_bytes:
            number, start = divmod(self._position, BLOCK_BYTES)
            pieces.append(self._block(number)[start:])
            self._position += len(pieces[-1])
        return b"".join(pieces)

    def close(self) -> None:
        """Let go of all blocks."""
        self._blocks.clear()
        if self._spool is not None:
            self._spool.close()
        super().close()

    def _block(self, number: int) -> bytes:
        found = self._blocks.pop(number, None)
        if found is None:
            found = self._from_disk(number) or self._fetch(number)
        self._blocks[number] = found  # the one that was used last comes last
        if len(self._blocks) > BLOCKS:
            oldest = next(iter(self._blocks))
            self._to_disk(oldest, self._blocks.pop(oldest))
        return found

    def _to_disk(self, number: int, block: bytes) -> None:
        """Keep a block, if there is room; one that is lost is fetched again."""
        if number in self._spooled:
            return
        with suppress(OSError):
            if self._spool is None:
                self._spool = tempfile.TemporaryFile()  # noqa: SIM115 -- closed with this file
            self._spool.seek(number * BLOCK_BYTES)
            self._spool.write(block)
            self._spool.flush()
            self._spooled.add(number)

    def _from_disk(self, number: int) -> bytes:
        """A block that was kept; empty when it was not, or cannot be read back whole."""
        if self._spool is None or number not in self._spooled:
            return b""
        wanted = min(BLOCK_BYTES, self._size_bytes - number * BLOCK_BYTES)
        with suppress(OSError):
            found = os.pread(self._spool.fileno(), wanted, number * BLOCK_BYTES)
            if len(found) == wanted:
                return found
        self._spooled.discard(number)
        return b""

    def _fetch(self, number: int) -> bytes:
        start = number * BLOCK_BYTES
        piece = self._requests.get_range(self._key, start, BLOCK_BYTES, self._tag)
        wanted = min(BLOCK_BYTES, self._size_bytes - start)
        if piece is None or len(piece.data) != wanted:
            why = "it was replaced or removed while it was read"
            raise StoreUnavailable("read", self._key, why)
        return piece.data
