"""Each call of the JSON API as a function from a request to a reply."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from urllib.parse import quote, unquote

from penstock.testing.gcs_double.gcs_answers import (
    BUCKET_ABSENT,
    GcsRefusal,
    Json,
    part_of,
)
from penstock.testing.gcs_double.gcs_bucket import GcsBucket, Moods
from penstock.testing.gcs_double.gcs_conditions import Conditions
from penstock.testing.gcs_double.gcs_listing import page_of
from penstock.testing.gcs_double.gcs_sessions import Sessions
from penstock.testing.gcs_double.gcs_versions import Generations, Version, token

_NO_SUCH_CALL = "The double does not know this call."


@dataclass(frozen=True, slots=True)
class GcsRequest:
    """One request: names are still encoded in the path, values of the query are not."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in small letters
    body: bytes
    base: str  # the address as the client sees it

    def json(self) -> Json:
        """The body as a resource; nothing is an empty one."""
        try:
            found = json.loads(self.body or b"{}")
        except ValueError as error:
            raise GcsRefusal(400, "parseError", "Parse Error") from error
        if not isinstance(found, dict):
            raise GcsRefusal(400, "parseError", "Parse Error")
        return found


@dataclass(frozen=True, slots=True)
class GcsReply:
    """What goes back."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class GcsState:
    """All that the double knows."""

    moods: Moods = field(default_factory=Moods)
    generations: Generations = field(default_factory=Generations)
    sessions: Sessions = field(default_factory=Sessions)
    buckets: dict[str, GcsBucket] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def bucket(self, name: str) -> GcsBucket:
        """A bucket that is there."""
        found = self.buckets.get(name)
        if found is None:
            raise GcsRefusal(404, "notFound", BUCKET_ABSENT)
        return found


def answer(state: GcsState, request: GcsRequest) -> GcsReply:
    """Perform a request. Raises `GcsRefusal`."""
    for method, pattern, call in _CALLS:
        found = re.fullmatch(pattern, request.path)
        if found is not None and request.method == method:
            return call(state, request, *(unquote(each) for each in found.groups()))
    raise GcsRefusal(404, "notFound", f"{_NO_SUCH_CALL} {request.method} {request.path}")


def _reply(request: GcsRequest, found: object, status: int = 200) -> GcsReply:
    body = json.dumps(part_of(found, request.query.get("fields", ""))).encode()
    return GcsReply(status, body, {"Content-Type": "application/json; charset=UTF-8"})


def _resource(request: GcsRequest, version: Version) -> GcsReply:
    return _reply(request, version.resource(request.base))


def _create_bucket(state: GcsState, request: GcsRequest) -> GcsReply:
    facts = request.json()
    name = str(facts.get("name", ""))
    with state.lock:
        if name in state.buckets:
            why = (
                "Your previous request to create the named bucket succeeded and you already own it."
            )
            raise GcsRefusal(409, "conflict", why)
        state.buckets[name] = GcsBucket(name, state.generations, state.moods, facts)
    return _get_bucket(state, request, name)


def _get_bucket(state: GcsState, request: GcsRequest, name: str) -> GcsReply:
    usual = {"kind": "storage#bucket", "id": name, "name": name, "location": "US"}
    return _reply(request, usual | {"storageClass": "STANDARD"} | state.bucket(name).facts)


def _patch_bucket(state: GcsState, request: GcsRequest, name: str) -> GcsReply:
    state.bucket(name).facts |= request.json()
    return _get_bucket(state, request, name)


def _list(state: GcsState, request: GcsRequest, bucket: str) -> GcsReply:
    return _reply(request, page_of(state.bucket(bucket), request.query, request.base))


def _get(state: GcsState, request: GcsRequest, bucket: str, name: str) -> GcsReply:
    version = state.bucket(bucket).get(name, _generation(request))
    Conditions.of(request.query).check(version)
    if request.query.get("alt") == "media":
        return _media(request, version)
    return _resource(request, version)


def _media(request: GcsRequest, version: Version) -> GcsReply:
    """The content, or a range of it; headers tell the version and the checksums of the whole."""
    hashes = f"crc32c={version.crc32c}"
    headers = {
        "Content-Type": version.content_type,
        "ETag": f"{version.generation}/{version.metageneration}",
        "X-Goog-Generation": str(version.generation),
        "X-Goog-Metageneration": str(version.metageneration),
        "X-Goog-Hash": hashes if version.components else f"{hashes},md5={version.md5}",
        "X-Goog-Storage-Class": "STANDARD",
        "X-Goog-Stored-Content-Length": str(len(version.data)),
    }
    said = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("range", ""))
    if said is None or not (said[1] or said[2]):
        return GcsReply(200, version.data, headers)
    whole = len(version.data)
    start = int(said[1]) if said[1] else max(0, whole - int(said[2]))
    end = min(whole, int(said[2]) + 1) if said[1] and said[2] else whole
    if start >= whole:
        why = f"The requested range cannot be satisfied: {start} of {whole}"
        raise GcsRefusal(416, "requestedRangeNotSatisfiable", why)
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{whole}"
    return GcsReply(206, version.data[start:end], headers)


def _delete(state: GcsState, request: GcsRequest, bucket: str, name: str) -> GcsReply:
    conditions = Conditions.of(request.query)
    state.bucket(bucket).delete(name, _generation(request), conditions)
    return GcsReply(204)


def _patch(state: GcsState, request: GcsRequest, bucket: str, name: str) -> GcsReply:
    conditions = Conditions.of(request.query)
    return _resource(request, state.bucket(bucket).patch(name, request.json(), conditions))


def _rewrite(
    state: GcsState, request: GcsRequest, bucket: str, source: str, into: str, target: str
) -> GcsReply:
    if into != bucket:
        raise GcsRefusal(400, "invalid", "The double rewrites within one bucket.")
    held = state.bucket(bucket)
    return _reply(
        request, held.rewrite(source, target, request.query, request.json(), request.base)
    )


def _compose(state: GcsState, request: GcsRequest, bucket: str, target: str) -> GcsReply:
    said = request.json()
    parts: list[tuple[str, int | None]] = []
    sources = said.get("sourceObjects")
    for each in sources if isinstance(sources, list) else []:
        wanted = each.get("objectPreconditions", {}).get("ifGenerationMatch")
        parts.append((str(each["name"]), None if wanted is None else int(wanted)))
    resource = said.get("destination")
    made = state.bucket(bucket).compose(
        target, parts, resource if isinstance(resource, dict) else {}, Conditions.of(request.query)
    )
    return _resource(request, made)


def _upload(state: GcsState, request: GcsRequest, bucket_name: str) -> GcsReply:
    bucket = state.bucket(bucket_name)
    conditions = Conditions.of(request.query)
    resource: Json
    kind = request.query.get("uploadType")
    if kind == "resumable":
        return _begin(state, request, bucket, conditions)
    if kind == "multipart":
        resource, data = _two_parts(request)
    elif kind == "media":
        resource = {"contentType": request.headers.get("content-type", "")}
        data = request.body
    else:
        raise GcsRefusal(400, "invalidParameter", f"Invalid upload type: {kind}")
    name = str(resource.get("name") or request.query.get("name", ""))
    return _resource(request, bucket.insert(name, data, resource, conditions))


def _begin(
    state: GcsState, request: GcsRequest, bucket: GcsBucket, conditions: Conditions
) -> GcsReply:
    resource = request.json()
    resource.setdefault("contentType", request.headers.get("x-upload-content-type", ""))
    name = str(resource.get("name") or request.query.get("name", ""))
    word = state.sessions.begin(bucket, name, resource, conditions)
    place = f"{request.base}/upload/storage/v1/b/{quote(bucket.name, safe='')}/o"
    query = f"uploadType=resumable&name={quote(name, safe='')}&upload_id={word}"
    return GcsReply(200, b"", {"Location": f"{place}?{query}"})


def _send_piece(state: GcsState, request: GcsRequest, _bucket: str) -> GcsReply:
    session = state.sessions.find(request.query.get("upload_id", ""))
    version = session.take(request.headers.get("content-range"), request.body)
    if version is not None:
        return _resource(request, version)
    held = len(session.held)
    return GcsReply(308, b"", {"Range": f"bytes=0-{held - 1}"} if held else {})


def _cancel(state: GcsState, request: GcsRequest, _bucket: str) -> GcsReply:
    state.sessions.find(request.query.get("upload_id", "")).cancel()
    return GcsReply(499)


def _set_moods(state: GcsState, request: GcsRequest) -> GcsReply:
    for key, value in request.json().items():
        if not hasattr(state.moods, key):
            raise GcsRefusal(400, "invalid", f"The double has no mood {key!r}.")
        setattr(state.moods, key, value)
    return GcsReply(204)


def _give_token(_state: GcsState, request: GcsRequest) -> GcsReply:
    """As `oauth2.googleapis.com/token` does for a service account; nobody checks the token."""
    return _reply(request, {"access_token": token(), "expires_in": 3600, "token_type": "Bearer"})


def _two_parts(request: GcsRequest) -> tuple[Json, bytes]:
    """The resource and the content of a multipart upload; each part has a head of its own."""
    said = re.search(r'boundary="?([^";]+)"?', request.headers.get("content-type", ""))
    if said is None:
        raise GcsRefusal(400, "badContent", "Missing the boundary of multipart content.")
    mark = b"--" + said[1].encode()
    try:
        _, first, rest = request.body.split(mark, 2)
        resource = json.loads(_part(first)[1])
        head, content = _part(rest[: rest.rindex(mark)])
    except ValueError as error:
        raise GcsRefusal(400, "badContent", "Failed to parse multipart content.") from error
    kind = re.search(rb"(?i)content-type:\s*([^\r\n]+)", head)
    resource.setdefault("contentType", "" if kind is None else kind[1].decode().strip())
    return resource, content


def _part(part: bytes) -> tuple[bytes, bytes]:
    """The head and the content of a part, without the end of line that belongs to the mark."""
    end = b"\r\n" if part.startswith(b"\r\n") else b"\n"
    head, _, content = part.partition(end * 2)
    return head, content.removesuffix(end)


def _generation(request: GcsRequest) -> int | None:
    word = request.query.get("generation")
    return None if word is None else int(word)


_BUCKET = r"/storage/v1/b/([^/]+)"
_OBJECT = rf"{_BUCKET}/o/([^/]+)"
_UPLOAD = r"/(?:resumable/)?upload/storage/v1/b/([^/]+)/o"
_CALLS: list[tuple[str, str, Callable[..., GcsReply]]] = [
    ("POST", r"/storage/v1/b", _create_bucket),
    ("GET", _BUCKET, _get_bucket),
    ("PATCH", _BUCKET, _patch_bucket),
    ("GET", rf"{_BUCKET}/o", _list),
    ("GET", _OBJECT, _get),
    ("GET", rf"/download{_OBJECT}", _get),
    ("DELETE", _OBJECT, _delete),
    ("PATCH", _OBJECT, _patch),
    ("POST", rf"{_OBJECT}/rewriteTo/b/([^/]+)/o/([^/]+)", _rewrite),
    ("POST", rf"{_OBJECT}/compose", _compose),
    ("POST", _UPLOAD, _upload),
    ("PUT", _UPLOAD, _send_piece),
    ("DELETE", _UPLOAD, _cancel),
    ("POST", r"/token", _give_token),
    ("PATCH", r"/double/moods", _set_moods),
]
