"""Errors as S3 writes them, an XML text with the headers that clients look at, and as GCS does."""

import html
import re
from collections.abc import Collection, Sequence
from http import HTTPStatus

from penstock.testing.gcs_double.gcs_answers import error_body
from penstock.testing.proxy.proxied_request import ProxiedRequest
from penstock.testing.proxy.proxy_rules import Answer

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_REQUEST_ID = "PROXY0000000000"
_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


def error_reply(request: ProxiedRequest, answer: Answer, *, close: bool) -> bytes:
    """A whole reply with this error. A reply to HEAD has no body."""
    if request.is_gcs:
        return _gcs_error_reply(answer, close=close)
    body = (
        f"{_XML}<Error><Code>{html.escape(answer.code)}</Code>"
        f"<Message>{html.escape(answer.message)}</Message>"
        f"<Resource>{html.escape(request.path)}</Resource>"
        f"<RequestId>{_REQUEST_ID}</RequestId></Error>"
    )
    is_empty = request.method == "HEAD" or not answer.code
    return _reply(answer.status, "" if is_empty else body, close=close)


def keys_to_delete(body: bytes) -> list[str]:
    """The keys in the body of `DeleteObjects`."""
    found = re.findall(r"<Key>(.*?)</Key>", body.decode(), re.DOTALL)
    return [html.unescape(key) for key in found]


def partly_denied_reply(keys: Sequence[str], denied: Collection[str]) -> bytes:
    """The reply to `DeleteObjects` where some keys are not allowed.

    Nothing was forwarded, since a shorter list would need a new signature. So the other keys get
    an error too, one that says: ask again.
    """
    errors = "".join(
        f"<Error><Key>{html.escape(key)}</Key>"
        f"<Code>{'AccessDenied' if key in denied else 'InternalError'}</Code>"
        f"<Message>{'Access Denied' if key in denied else 'Ask again without the others'}"
        "</Message></Error>"
        for key in keys
    )
    return _reply(
        200, f'{_XML}<DeleteResult xmlns="{_NAMESPACE}">{errors}</DeleteResult>', close=False
    )


def _gcs_error_reply(answer: Answer, *, close: bool) -> bytes:
    """The same as GCS writes it. An answer without a code has no body."""
    body = error_body(answer.status, answer.code, answer.message) if answer.code else b""
    return _reply(answer.status, body.decode(), close=close, kind="application/json")


def _reply(status: int, body: str, *, close: bool, kind: str = "application/xml") -> bytes:
    content = body.encode()
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(content)}",
        f"x-amz-request-id: {_REQUEST_ID}",
        "Server: AmazonS3",
        *(["Connection: close"] if close else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + content
