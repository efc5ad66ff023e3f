"""One version of an object, with its checksums and the resource that describes it."""

import base64
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from threading import Lock
from urllib.parse import quote

import google_crc32c

from penstock.testing.gcs_double.gcs_answers import GcsRefusal, Json

# What a request may say about a new object.
_SAID = ("cacheControl", "contentEncoding", "contentLanguage", "customTime", "storageClass")


class Generations:
    """Numbers for new versions: microseconds, each larger than all before. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last = 0

    def next(self) -> int:
        """The next number."""
        with self._lock:
            self._last = max(self._last + 1, time.time_ns() // 1000)
            return self._last


@dataclass(frozen=True, slots=True)
class Version:
    """What one write has put under a name."""

    bucket: str
    name: str
    generation: int
    data: bytes
    metageneration: int = 1
    content_type: str = "application/octet-stream"
    metadata: Mapping[str, str] | None = None
    said: Mapping[str, object] | None = None
    components: int | None = None

    @property
    def crc32c(self) -> str:
        """As resources and headers write it."""
        return base64.b64encode(google_crc32c.Checksum(self.data).digest()).decode()

    @property
    def md5(self) -> str:
        """Composite objects have none in their resource."""
        return base64.b64encode(hashlib.md5(self.data, usedforsecurity=False).digest()).decode()

    def resource(self, base: str) -> Json:
        """What a request for it says."""
        made = datetime.fromtimestamp(self.generation / 1e6, UTC).isoformat().replace("+00:00", "Z")
        path = f"b/{self.bucket}/o/{quote(self.name, safe='')}"
        found: Json = {
            "kind": "storage#object",
            "id": f"{self.bucket}/{self.name}/{self.generation}",
            "selfLink": f"{base}/storage/v1/{path}",
            "mediaLink": f"{base}/download/storage/v1/{path}?alt=media",
            "name": self.name,
            "bucket": self.bucket,
            "generation": str(self.generation),
            "metageneration": str(self.metageneration),
            "contentType": self.content_type,
            "storageClass": "STANDARD",
            "size": str(len(self.data)),
            "crc32c": self.crc32c,
            "etag": f"{self.generation}/{self.metageneration}",
            "timeCreated": made,
            "updated": made,
            "timeStorageClassUpdated": made,
        }
        if self.components is None:
            found["md5Hash"] = self.md5
        else:
            found["componentCount"] = self.components
        if self.metadata:
            found["metadata"] = dict(self.metadata)
        return found | dict(self.said or {})


def new_version(bucket: str, name: str, generation: int, data: bytes, resource: Json) -> Version:
    """A version with what a request says about it. Raises when a checksum is another one."""
    metadata = resource.get("metadata")
    version = Version(
        bucket,
        name,
        generation,
        data,
        content_type=str(resource.get("contentType") or "application/octet-stream"),
        metadata=metadata if isinstance(metadata, dict) else None,
        said={key: resource[key] for key in _SAID if key in resource},
    )
    for key, seen in (("crc32c", version.crc32c), ("md5Hash", version.md5)):
        wanted = resource.get(key)
        if wanted is not None and wanted != seen:
            why = f"Provided {key} {wanted!r} does not match calculated {seen!r}."
            raise GcsRefusal(400, "invalid", why)
    return version


def check_name(name: str) -> str:
    """Raise for a name that Cloud Storage does not take."""
    try:
        size_bytes = len(name.encode())
    except UnicodeEncodeError:
        size_bytes = 0
    is_odd = name in (".", "..") or name.startswith(".well-known/acme-challenge/")
    if is_odd or not 1 <= size_bytes <= 1024 or "\r" in name or "\n" in name:
        raise GcsRefusal(400, "invalid", f"Invalid object name: {name[:80]!r}")
    return name


_tokens = count(1)


def token() -> str:
    """A word that no other answer of this process has."""
    return f"{time.time_ns():x}-{next(_tokens)}"
