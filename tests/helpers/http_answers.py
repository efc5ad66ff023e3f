"""A small HTTP server in this process that answers as a test says and notes what it was asked."""

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import BinaryIO

Heard = tuple[str, dict[str, str]]  # a path, and the headers in lower case
Answer = Callable[[BinaryIO], None]  # writes a whole answer, its head included


def answer(status: int, body: bytes = b"", *headers: str) -> Answer:
    """A sound answer."""
    lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}", *headers, "", ""]
    return lambda out: write(out, "\r\n".join(lines).encode() + body)


def raw(data: bytes) -> Answer:
    """Any bytes; then the connection ends."""
    return lambda out: write(out, data)


def write(out: BinaryIO, data: bytes) -> None:
    """Send some bytes now."""
    out.write(data)
    out.flush()


class Answers:
    """What a server says by path; anything else is a 404 without a word."""

    def __init__(self) -> None:
        self.by_path: dict[str, Answer] = {}
        self.heard: list[Heard] = []
        self.ended = threading.Event()
        self.url = ""

    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [path for path, _headers in self.heard]

    def drip(self, out: BinaryIO) -> None:
        """An answer that never ends: a byte now and then."""
        self.repeat(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" ")(out)

    def repeat(self, begin: bytes, more: bytes) -> Answer:
        """An answer that begins somehow, and then repeats itself now and then without an end."""

        def say(out: BinaryIO) -> None:
            write(out, begin)
            while not self.ended.wait(0.02):
                write(out, more)

        return say

    def keep_silent(self, _out: BinaryIO) -> None:
        """No answer as long as the test lasts."""
        self.ended.wait(60)


@contextlib.contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Answers]:
    """A server on loopback as long as the block lasts."""
    answers = Answers()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard = {name.lower(): value for name, value in self.headers.items()}
            answers.heard.append((self.path, heard))
            say = answers.by_path.get(self.path, answer(404))
            self.close_connection = True
            with contextlib.suppress(OSError):  # whoever asked may have left
                say(self.wfile)  # type: ignore[arg-type]

        def log_message(self, *_words: object) -> None:
            """Nothing is printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        answers.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
        try:
            yield answers
        finally:
            answers.ended.set()
            server.shutdown()
            thread.join()
