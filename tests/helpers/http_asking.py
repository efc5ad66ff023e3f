"""Asking a server over a real socket, byte by byte where a test wants that."""

import http.client
import json
import socket
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answered:
    """An answer: the status, the headers in lower case, and the body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def ask(url: str, path: str = "/", method: str = "GET", **headers: str) -> Answered:
    """One request on a connection of its own; `_` in names of headers is a hyphen."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=20)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=named)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Answered(answer.status, found, answer.read())
    finally:
        connection.close()


def dial(url: str) -> socket.socket:
    """A connection over which nothing was sent yet."""
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname or "", parts.port or 80), timeout=20)


def ask_until(url: str, path: str, status: int, within_s: float = 30.0) -> Answered:
    """Ask again and again until an answer has this status."""
    end = time.monotonic() + within_s
    while True:
        found = ask(url, path)
        if found.status == status or time.monotonic() > end:
            assert found.status == status, found
            return found
        time.sleep(0.05)
