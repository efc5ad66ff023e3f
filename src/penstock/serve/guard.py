"""Who may ask: a Host check against DNS rebinding, a token, and headers that keep browsers out."""

import hmac
from collections.abc import Iterable

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """Answers for the app where a request is not allowed to reach it. Every route is behind it.

    `hosts` are the names that a request may have in `Host`; None: any, because a token is wanted.
    """

    def __init__(self, app: ASGIApp, token: str | None, hosts: frozenset[str] | None) -> None:
        self._app = app
        self._token = None if token is None else token.encode()
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._refusal(scope["headers"])
        await (self._app if refusal is None else refusal)(scope, receive, with_headers)

    def _refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> PlainTextResponse | None:
        given = list(headers)
        if has_body(given):  # nothing here takes one, so it is not waited for
            return PlainTextResponse("A request has no body here.\n", 413, {"Connection": "close"})
        hosts = [value.decode("latin-1") for name, value in given if name == b"host"]
        if self._hosts is not None and (len(hosts) != 1 or host_of(hosts[0]) not in self._hosts):
            return PlainTextResponse("This name does not lead here.\n", 421)
        if self._token is None or self._has_token(given):
            return None
        return PlainTextResponse(
            "A token is needed: Authorization: Bearer TOKEN\n",
            401,
            {"WWW-Authenticate": 'Bearer realm="penstock"'},
        )

    def _has_token(self, headers: list[tuple[bytes, bytes]]) -> bool:
        given = [value for name, value in headers if name == b"authorization"]
        if len(given) != 1 or self._token is None:
            return False
        scheme, _, token = given[0].partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)


def has_body(headers: list[tuple[bytes, bytes]]) -> bool:
    """True when a request says that more follows."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0"))
        for name, value in headers
    )


def host_of(value: str) -> str:
    """The name in a `Host` header, without the port."""
    if value.startswith("["):
        return value[1:].partition("]")[0].lower()
    return value.partition(":")[0].rstrip(".").lower()
