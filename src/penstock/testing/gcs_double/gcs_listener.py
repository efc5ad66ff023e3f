"""The HTTP side of the double: a thread for each connection, which stays open between requests."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

from penstock.testing.gcs_double.gcs_answers import GcsRefusal, error_body
from penstock.testing.gcs_double.gcs_calls import GcsReply, GcsRequest, GcsState, answer
from penstock.testing.servers import LOOPBACK

_BACKLOG = 256


class GcsListener(ThreadingHTTPServer):
    """The double as a server; `serve_forever` answers until `shutdown`."""

    daemon_threads = True
    request_queue_size = _BACKLOG

    def __init__(self, port: int = 0) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.state = GcsState()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: GcsListener

    def do_any(self) -> None:
        """One request."""
        if (self.headers.get("Expect") or "").lower() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        request = self._request(b"".join(self._body()))
        try:
            reply = answer(self.server.state, request)
        except GcsRefusal as refusal:
            body = error_body(refusal.status, refusal.reason, refusal.message)
            headers = {"Content-Type": "application/json; charset=UTF-8"}
            reply = GcsReply(refusal.status, body, headers)
        self._send(reply)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_any  # noqa: N815 -- names of the base

    def _request(self, body: bytes) -> GcsRequest:
        path, _, query = self.path.partition("?")
        return GcsRequest(
            self.command,
            path,
            dict(parse_qsl(query, keep_blank_values=True)),
            {name.lower(): value for name, value in self.headers.items()},
            body,
            f"http://{self.headers.get('Host', '')}",
        )

    def _body(self) -> Iterator[bytes]:
        if (self.headers.get("Transfer-Encoding") or "").lower() != "chunked":
            yield self.rfile.read(int(self.headers.get("Content-Length") or 0))
            return
        while size_bytes := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size_bytes)
            self.rfile.readline()
        self.rfile.readline()

    def _send(self, reply: GcsReply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status not in (204, 304):
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a line for each request would be too much."""

    def handle(self) -> None:
        """Serve a connection; a client that is gone is no error."""
        try:
            super().handle()
        except (TimeoutError, ConnectionError):
            self.close_connection = True
