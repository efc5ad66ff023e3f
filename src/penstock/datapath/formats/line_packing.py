"""Lines in a stream: packed as they are written, unpacked piece by piece and one by one."""

import io
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from penstock.datapath.formats.arrow_errors import UNREADABLE, first_line
from penstock.errors import StoreUnavailable

READ_BYTES = 1 << 20  # of a file, and of what is unpacked, at a time
# A line of ours is a few times as long as the longest record; this is for bytes that have no lines.
MOST_LINE_BYTES = 1 << 30
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
PACKED_BYTES = (_GZIP, _ZSTD)  # with which compressed files begin
_AS_GZIP = zlib.MAX_WBITS | 16


class LinesBroken(ValueError):
    """Bytes that cannot be unpacked to lines."""


class Packer(Protocol):
    """A compression of one stream."""

    def pack(self, data: bytes) -> bytes:
        """Some more bytes; what is ready of them."""
        ...

    def finish(self) -> bytes:
        """The rest."""
        ...


class GzipPacker:
    """Gzip, without a time in its header: the same rows give the same file."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(wbits=_AS_GZIP)

    def pack(self, data: bytes) -> bytes:
        """Some more bytes; what is ready of them."""
        return self._packer.compress(data)

    def finish(self) -> bytes:
        """The rest."""
        return self._packer.flush()


class ZstdPacker:
    """Zstandard, as one frame."""

    def __init__(self) -> None:
        self._packed = _Collected()
        self._stream = pa.CompressedOutputStream(pa.PythonFile(self._packed, "w"), "zstd")

    def pack(self, data: bytes) -> bytes:
        """Some more bytes; what is ready of them."""
        self._stream.write(data)
        return self._packed.take()

    def finish(self) -> bytes:
        """The rest."""
        self._stream.close()
        return self._packed.take()


class PlainPacker:
    """No compression."""

    def pack(self, data: bytes) -> bytes:
        """The bytes."""
        return data

    def finish(self) -> bytes:
        """Nothing."""
        return b""


class _Collected(io.RawIOBase):
    """A stream that keeps bytes until they are taken."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    # Any: whatever holds bytes; before Python 3.12 no type says that.
    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """All that was written since."""
        taken, self._pieces = b"".join(self._pieces), []
        return taken


PACKERS: dict[str, type[Packer]] = {
    "zstd": ZstdPacker,
    "gzip": GzipPacker,
    "none": PlainPacker,
}


class _Borrowed:
    """A file that stays open when the stream over it is closed."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.read = file.read

    def close(self) -> None:
        """Whoever opened the file closes it."""


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Every line of a file, without its end; the last one must be whole, too.

    Raises `LinesBroken`.
    """
    rest: list[bytes] = []
    length = 0
    for piece in unpacked(file):
        first, *others = piece.split(b"\n")
        rest.append(first)
        length += len(first)
        if length > MOST_LINE_BYTES:
            raise LinesBroken("a line is longer than any that was written")
        if others:
            yield b"".join(rest)
            *whole, last = others
            yield from whole
            rest, length = [last], len(last)
    if length:
        raise LinesBroken("it does not end where a line ends")


def unpacked(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file from its beginning, unpacked as its first bytes ask for.

    Raises `LinesBroken`, also where a file was cut, as far as its compression shows that.
    """
    file.seek(0)
    first = file.read(READ_BYTES)
    if first.startswith(_GZIP):
        return _from_gzip(file, first)
    file.seek(0)
    return _from_zstd(file) if first.startswith(_ZSTD) else _read(file)


def _read(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(READ_BYTES):
        yield piece


def _from_gzip(file: BinaryIO, data: bytes) -> Iterator[bytes]:
    """Of one member, or of several behind each other."""
    unpacker = zlib.decompressobj(wbits=_AS_GZIP)
    try:
        while data:
            piece = unpacker.decompress(data, READ_BYTES)
            if piece:
                yield piece
            data = unpacker.unconsumed_tail
            if unpacker.eof and (more := unpacker.unused_data or file.read(READ_BYTES)):
                unpacker, data = zlib.decompressobj(wbits=_AS_GZIP), more
            data = data or file.read(READ_BYTES)
    except zlib.error as error:
        raise LinesBroken(f"it is not gzip: {error}") from error
    if not unpacker.eof:
        raise LinesBroken("it was cut: its gzip has no end")


def _from_zstd(file: BinaryIO) -> Iterator[bytes]:
    try:
        with pa.CompressedInputStream(pa.PythonFile(_Borrowed(file), "r"), "zstd") as stream:
            while piece := stream.read(READ_BYTES):
                yield piece
    except StoreUnavailable:
        raise
    except UNREADABLE as error:
        raise LinesBroken(f"it is not zstd: {first_line(error)}") from error
