"""Ask a Kafka broker who is in its cluster, with nothing but a socket.

Goal: to know that a broker answers, without a client library. Version 4 of the metadata request is
the last one that is plain enough to be written by hand, and brokers since 1.0 understand it.
"""

import socket
import struct
from dataclasses import dataclass

_METADATA, _VERSION, _CORRELATION = 3, 4, 7
_CLIENT = b"penstock"
_LARGEST_ANSWER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """The brokers that are alive, by their ids, and which cluster they form."""

    cluster_id: str
    controller: int
    brokers: frozenset[int]


def ask_metadata(host: str, port: int, timeout_s: float) -> ClusterMetadata:
    """Return what the broker says. OSError when it does not answer, ValueError when oddly."""
    with socket.create_connection((host, port), timeout=timeout_s) as connection:
        connection.sendall(_request())
        (size,) = struct.unpack(">i", _exactly(connection, 4))
        if not 0 < size <= _LARGEST_ANSWER_BYTES:
            raise ValueError(f"an answer of {size} bytes")
        return _answer(_Reader(_exactly(connection, size)))


def _request() -> bytes:
    header = struct.pack(">hhih", _METADATA, _VERSION, _CORRELATION, len(_CLIENT)) + _CLIENT
    no_topics, create_none = struct.pack(">i", 0), b"\x00"
    body = header + no_topics + create_none
    return struct.pack(">i", len(body)) + body


def _answer(reader: "_Reader") -> ClusterMetadata:
    if reader.int32() != _CORRELATION:
        raise ValueError("an answer to another question")
    reader.int32()  # throttle time
    brokers = set()
    for _ in range(reader.int32()):
        brokers.add(reader.int32())
        reader.text()  # host
        reader.int32()  # port
        reader.text()  # rack
    return ClusterMetadata(reader.text(), reader.int32(), frozenset(brokers))


class _Reader:
    """Reads big-endian fields one after the other; ValueError when there are too few bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int32(self) -> int:
        """A signed number of four bytes."""
        return int.from_bytes(self._take(4), signed=True)

    def text(self) -> str:
        """A string with its length before it; a null one is empty."""
        length = int.from_bytes(self._take(2), signed=True)
        return self._take(max(length, 0)).decode()

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise ValueError("the answer ends too early")
        self._at += count
        return taken


def _exactly(connection: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        piece = connection.recv(count - len(received))
        if not piece:
            raise ConnectionError("the broker closed the connection")
        received += piece
    return bytes(received)
