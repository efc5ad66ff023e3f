"""Heads and bodies of HTTP/1.1 messages as the bytes that they were, so that they can be passed on.

Nothing is decoded and written again: a signature covers the path, the query and some headers, byte
for byte.
"""

import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

PIECE_BYTES = 256 * 1024
_MOST_HEAD_BYTES = 256 * 1024
_END_OF_HEAD = b"\r\n"


class BrokenMessage(Exception):
    """The peer sent something that is not HTTP/1.1, or ended in the middle of a message."""


@dataclass(frozen=True, slots=True)
class Head:
    """The first line and the headers, without the empty line at their end."""

    first: bytes
    lines: tuple[bytes, ...]

    def header(self, name: str) -> str | None:
        """The value of the first header with this name, in any case."""
        wanted = name.lower().encode()
        for line in self.lines:
            found, _, value = line.partition(b":")
            if found.strip().lower() == wanted:
                return value.strip().decode("latin-1")
        return None

    def has_word(self, name: str, word: str) -> bool:
        """Whether a header with a list of words has this one: `Connection: close`."""
        words = (self.header(name) or "").lower().split(",")
        return word in (each.strip() for each in words)

    def without(self, name: str) -> "Head":
        """A copy without the headers of this name."""
        wanted = name.lower().encode()
        kept = (line for line in self.lines if line.partition(b":")[0].strip().lower() != wanted)
        return Head(self.first, tuple(kept))

    def without_parameter(self, name: str) -> "Head":
        """A copy whose first line asks without this word of the query."""
        method, _, rest = self.first.partition(b" ")
        target, _, version = rest.rpartition(b" ")
        path, _, query = target.partition(b"?")
        mark = f"{name}=".encode()
        kept = b"&".join(each for each in query.split(b"&") if not each.startswith(mark))
        return Head(b" ".join((method, path + (b"?" + kept if kept else b""), version)), self.lines)

    def to_bytes(self) -> bytes:
        """As it goes over the wire, with the empty line."""
        return b"\r\n".join((self.first, *self.lines, b"", b""))


def read_head(stream: BinaryIO) -> Head | None:
    """The next head, or None when the peer has ended between two messages."""
    lines: list[bytes] = []
    size_bytes = 0
    while True:
        line = stream.readline(_MOST_HEAD_BYTES)
        size_bytes += len(line)
        if not line and not lines:
            return None
        if not line.endswith(b"\n") or size_bytes > _MOST_HEAD_BYTES:
            raise BrokenMessage("a head that does not end")
        if line in (_END_OF_HEAD, b"\n"):
            if lines:
                return Head(lines[0], tuple(lines[1:]))
            continue  # empty lines before a request are allowed
        lines.append(line.rstrip(b"\r\n"))


def request_body(head: Head, stream: BinaryIO) -> Iterator[bytes]:
    """The body of a request in pieces, with its chunk marks if it has any."""
    if head.has_word("Transfer-Encoding", "chunked"):
        return _chunks(stream)
    return _exactly(stream, _length(head) or 0)


def reply_body(head: Head, method: str, stream: BinaryIO) -> Iterator[bytes]:
    """The body of a reply in pieces, with its chunk marks if it has any."""
    if method == "HEAD" or status_of(head) in (204, 304):
        return iter(())
    if head.has_word("Transfer-Encoding", "chunked"):
        return _chunks(stream)
    size_bytes = _length(head)
    return _until_end(stream) if size_bytes is None else _exactly(stream, size_bytes)


def ends_connection(request: Head, reply: Head, method: str) -> bool:
    """Whether no other request can follow on this connection."""
    if request.has_word("Connection", "close") or reply.has_word("Connection", "close"):
        return True
    has_end = method == "HEAD" or status_of(reply) in (204, 304) or _length(reply) is not None
    return not has_end and not reply.has_word("Transfer-Encoding", "chunked")


def status_of(head: Head) -> int:
    """The status of a reply."""
    found = re.match(rb"HTTP/1\.[01] (\d{3})(?: |$)", head.first)
    if found is None:
        raise BrokenMessage(f"not the first line of a reply: {head.first[:80]!r}")
    return int(found[1])


def close_at_once(connection: socket.socket) -> None:
    """Close so that both directions end, also for another thread that reads from it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the peer was faster, or it is closed already
    finally:
        connection.close()


def _length(head: Head) -> int | None:
    value = head.header("Content-Length")
    if value is None:
        return None
    if not value.isdecimal():
        raise BrokenMessage(f"not a length: {value[:80]!r}")
    return int(value)


def _exactly(stream: BinaryIO, size_bytes: int) -> Iterator[bytes]:
    left = size_bytes
    while left:
        piece = stream.read1(min(left, PIECE_BYTES))  # type: ignore[attr-defined]
        if not piece:
            raise BrokenMessage(f"a body that ends {left} bytes early")
        left -= len(piece)
        yield piece


def _until_end(stream: BinaryIO) -> Iterator[bytes]:
    while piece := stream.read1(PIECE_BYTES):  # type: ignore[attr-defined]
        yield piece


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    """Chunks as they are on the wire: size line, data, end of line; then trailers."""
    while True:
        line = stream.readline(_MOST_HEAD_BYTES)
        found = re.match(rb"\s*([0-9A-Fa-f]+)\s*(?:;|\r?\n)", line)
        if found is None:
            raise BrokenMessage(f"not the size of a chunk: {line[:80]!r}")
        yield line
        size_bytes = int(found[1], 16)
        if size_bytes == 0:
            break
        yield from _exactly(stream, size_bytes)
        yield _line(stream)
    while True:
        line = _line(stream)
        yield line
        if line in (_END_OF_HEAD, b"\n"):
            return


def _line(stream: BinaryIO) -> bytes:
    line = stream.readline(_MOST_HEAD_BYTES)
    if not line.endswith(b"\n"):
        raise BrokenMessage("a body that ends early")
    return line
