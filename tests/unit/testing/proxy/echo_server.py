"""A plain HTTP server that remembers what it was sent, byte for byte, for tests of the proxy."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHUNKED = "/chunked"
UNTIL_END = "/until-end"
MISSING = "/missing"
REFUSES = "/refuses"


@dataclass(frozen=True)
class Sent:
    """A request as it arrived."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Echo:
    """What arrived so far. `content` is what a GET gets."""

    url: str = ""
    content: bytes = b"0123456789" * 1000
    sent: list[Sent] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """The first lines of the requests."""
        return [each.line for each in self.sent]


@contextmanager
def echo_server() -> Iterator[Echo]:
    """Run it on a port of its own."""
    echo = Echo()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            if self.path.startswith(REFUSES):  # before the body is read, as S3 may
                self.reply(403, b"refused", "Connection: close")
                self.close_connection = True
                return
            echo.sent.append(Sent(self.requestline, dict(self.headers), self.body()))
            if self.path.startswith(MISSING):
                self.reply(404, b"nothing")
            elif self.path.startswith(CHUNKED):
                pieces = [echo.content[at : at + 999] for at in range(0, len(echo.content), 999)]
                chunked = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in pieces)
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.wfile.write(chunked + b"0\r\nX-Trailer: yes\r\n\r\n")
            elif self.path.startswith(UNTIL_END):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(echo.content)
                self.close_connection = True
            else:
                self.reply(200, echo.content)

        def reply(self, status: int, content: bytes, *more: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            for line in more:
                self.send_header(*line.split(": "))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            content = b""
            while size := int(self.rfile.readline(), 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline() != b"\r\n":
                continue
            return content

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            return

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        echo.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield echo
        finally:
            server.shutdown()
            thread.join()
