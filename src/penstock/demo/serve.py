"""Serves the page on loopback until Ctrl-C, and no other file."""

from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from penstock.demo.screen import Screen

HOST = "127.0.0.1"
PORT = 8484
_TRIES = 20


def serve(page: Path, screen: Screen) -> None:
    """Serve until interrupted."""
    with server_for(page) as server:
        screen.plain()
        screen.plain(f"the page is on http://{HOST}:{server.server_port}/ until Ctrl-C")
        with suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.2)
    screen.plain("stopped")


def server_for(page: Path, first_port: int = PORT) -> ThreadingHTTPServer:
    """A server for this page, on the first free port of a range, or on any port."""
    body = page.read_bytes()

    class Handler(BaseHTTPRequestHandler):
        """Answers every GET of / with the page."""

        def do_GET(self) -> None:
            found = self.path.split("?")[0] == "/"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8" if found else "text/plain")
            self.send_header("Content-Length", str(len(body) if found else 0))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if found:
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing; the terminal is for the demo's output."""

    for port in [*range(first_port, first_port + _TRIES), 0]:
        with suppress(OSError):
            return ThreadingHTTPServer((HOST, port), Handler)
    raise OSError(f"no free port on {HOST}")
