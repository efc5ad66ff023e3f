"""A small server of OAuth tokens on loopback, in this process: a token for id and secret.

    with TokenServer({"penstock": "the secret"}) as tokens:
        ...tokens.url, tokens.keys...

It answers `POST /token` as identity providers do, and signs with a key whose public half is in
`keys`, a JSON Web Key Set, which a broker checks tokens with.
"""

import base64
import json
import ssl
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from penstock.testing.servers import LOOPBACK

ISSUER = "penstock-tests"
AUDIENCE = "kafka"
_KEY_ID = "tests-1"


class TokenServer:
    """One server. `clients` are secrets by the client's id, and may be changed while it runs.

    `lifetime_s` is how long a token lives; `given` counts tokens by client. With `tls` it speaks
    https.
    """

    def __init__(
        self,
        clients: Mapping[str, str],
        lifetime_s: float = 3600.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.clients = dict(clients)
        self.lifetime_s = lifetime_s
        self.given: dict[str, int] = {}
        self._tls = tls
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """Where tokens are given; the same after `stop` and `start`."""
        return f"http{'s' if self._tls else ''}://{LOOPBACK}:{self._port}/token"

    @property
    def keys(self) -> str:
        """The public key, as a JSON Web Key Set."""
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": _KEY_ID, "alg": "RS256", "use": "sig"}
        key |= {"n": _number(numbers.n), "e": _number(numbers.e)}
        return json.dumps({"keys": [key]})

    def start(self) -> None:
        """Listen; on the port that it had before, if it had one."""
        server = ThreadingHTTPServer((LOOPBACK, self._port), self._handler())
        server.daemon_threads = True
        if self._tls is not None:
            server.socket = self._tls.wrap_socket(server.socket, server_side=True)
        self._server, self._port = server, server.server_port
        self._thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it. Safe to repeat."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = self._thread = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        tokens = self

        class Handler(BaseHTTPRequestHandler):
            """Answers one request for a token."""

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, body = tokens._answer(self.headers.get("Authorization") or "")
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_words: object) -> None:
                """Nothing is printed."""

        return Handler

    def _answer(self, credentials: str) -> tuple[int, bytes]:
        try:
            given = base64.b64decode(credentials.removeprefix("Basic ")).decode()
        except ValueError:
            given = ""
        client, _, secret = given.partition(":")
        if not secret or self.clients.get(client) != secret:
            return 401, b'{"error": "invalid_client"}'
        self.given[client] = self.given.get(client, 0) + 1
        token = {"access_token": self._token(client), "token_type": "Bearer"}
        return 200, json.dumps({**token, "expires_in": int(self.lifetime_s)}).encode()

    def _token(self, client: str) -> str:
        now = time.time()
        head = {"alg": "RS256", "typ": "JWT", "kid": _KEY_ID}
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": client, "iat": int(now)}
        parts = [head, {**claims, "exp": int(now + self.lifetime_s), "scope": "kafka"}]
        signed = ".".join(_plain(json.dumps(part).encode()) for part in parts)
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_plain(signature)}"


def _number(value: int) -> str:
    return _plain(value.to_bytes((value.bit_length() + 7) // 8))


def _plain(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
