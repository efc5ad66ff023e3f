"""Requests of the JSON API of Google Cloud Storage: what is asked of which name.

The name of a new object often stands in the body alone; then it is read there.
"""

import json
import re
from collections.abc import Mapping
from urllib.parse import unquote

_ANY = (
    r"(?P<door>(?:/resumable)?/upload|/download)?/storage/v1/b(?:/(?P<bucket>[^/]+)(?P<rest>/.*)?)?"
)
_OBJECT = re.compile(r"/o(?:/(?P<name>[^/]+)(?P<act>/compose|/rewriteTo/b/[^/]+/o/(?P<into>.+))?)?")
_OF_OBJECTS = {"GET": "objects.get", "DELETE": "objects.delete", "PATCH": "objects.patch"}
_OF_BUCKETS = {"GET": "buckets.get", "PATCH": "buckets.patch", "POST": "buckets.insert"}
_NAME = re.compile(rb'"name":\s*("(?:[^"\\]|\\.)*")')

UNNAMED = frozenset({"objects.insert", "uploads.begin"})
MOST_OF_RESOURCE_BYTES = 64 * 1024


def is_gcs(path: str) -> bool:
    """Whether a path, still encoded, is one of this API."""
    return re.fullmatch(_ANY, path) is not None


def operation_of(method: str, path: str, query: Mapping[str, str], content_range: str) -> str:
    """The name of the call. The pieces of an upload, and questions about it, have names here."""
    whole = re.fullmatch(_ANY, path)
    rest = "" if whole is None else whole["rest"] or ""
    found = _OBJECT.fullmatch(rest)
    if whole is not None and "upload" in (whole["door"] or ""):
        return _upload(method, query, content_range)
    if found is None:
        return _OF_BUCKETS.get(method, f"{method} bucket")
    if found["act"]:
        return "objects.compose" if found["into"] is None else "objects.rewrite"
    if found["name"] is None:
        return "objects.list"
    if method == "GET" and query.get("alt") == "media":
        return "objects.read"
    return _OF_OBJECTS.get(method, f"{method} object")


def _upload(method: str, query: Mapping[str, str], content_range: str) -> str:
    if method == "DELETE":
        return "uploads.cancel"
    if method == "PUT":
        is_question = content_range.startswith("bytes */") and content_range != "bytes */0"
        return "uploads.ask" if is_question else "uploads.send"
    return "uploads.begin" if query.get("uploadType") == "resumable" else "objects.insert"


def place_of(path: str, query: Mapping[str, str]) -> tuple[str, str]:
    """The bucket, and the object; of a rewrite the new one. Without an object the prefix."""
    whole = re.fullmatch(_ANY, path)
    if whole is None or whole["bucket"] is None:
        return "", ""
    found = _OBJECT.fullmatch(whole["rest"] or "")
    name = None if found is None else found["into"] or found["name"]
    if name is not None:
        return unquote(whole["bucket"]), unquote(name)
    return unquote(whole["bucket"]), query.get("name", query.get("prefix", ""))


def name_in(body: bytes) -> str:
    """The name in the resource with which the body of an upload begins; empty if there is none."""
    found = _NAME.search(body[:MOST_OF_RESOURCE_BYTES])
    return "" if found is None else str(json.loads(found[1]))
