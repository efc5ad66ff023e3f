"""Connections to a server that can be cut, in this process: the next ones are new to the server."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

from penstock.testing.servers import LOOPBACK

_PIECE_BYTES = 65536


class CutWire:
    """Passes bytes on between clients and one port of this machine. `cut` ends all connections."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server((LOOPBACK, 0))
        self.accepted = 0

    @property
    def port(self) -> int:
        """Where clients connect."""
        return int(self._listener.getsockname()[1])

    def cut(self) -> None:
        """End every connection, as a switch that loses power does."""
        with self._lock:
            ended, self._open = self._open, set()
        for each in ended:
            with contextlib.suppress(OSError):  # the other side was faster
                each.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="wire", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection((LOOPBACK, self._to))
            except OSError:  # closed, or nobody listens there: the client sees the end
                if self._listener.fileno() < 0:
                    return
                client.close()
                continue
            self.accepted += 1
            with self._lock:
                self._open |= {client, server}
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=_pass_on, args=(source, target), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Until one of them ends; then the other ends, too."""
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE_BYTES):
            target.sendall(piece)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
