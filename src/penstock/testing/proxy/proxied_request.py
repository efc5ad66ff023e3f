"""A request that passes the proxy, in the words of HTTP and in those of S3 or GCS."""

from dataclasses import dataclass, replace
from urllib.parse import unquote, unquote_plus

from penstock.testing.proxy.gcs_operations import (
    is_gcs,
    name_in,
    operation_of,
    place_of,
)
from penstock.testing.proxy.http_messages import BrokenMessage, Head

# What a word of the query makes of each method. The first that is there counts.
_OF_OBJECTS = (
    ("partNumber", {"PUT": "UploadPart"}),
    (
        "uploadId",
        {
            "POST": "CompleteMultipartUpload",
            "DELETE": "AbortMultipartUpload",
            "GET": "ListParts",
        },
    ),
    ("uploads", {"POST": "CreateMultipartUpload"}),
    ("tagging", {"GET": "GetObjectTagging", "PUT": "PutObjectTagging"}),
    ("attributes", {"GET": "GetObjectAttributes"}),
)
_OF_BUCKETS = (
    ("delete", {"POST": "DeleteObjects"}),
    ("uploads", {"GET": "ListMultipartUploads"}),
    ("versions", {"GET": "ListObjectVersions"}),
    ("lifecycle", {"GET": "GetBucketLifecycleConfiguration", "PUT": "PutBucketLifecycle"}),
    ("versioning", {"GET": "GetBucketVersioning", "PUT": "PutBucketVersioning"}),
    ("location", {"GET": "GetBucketLocation"}),
    ("encryption", {"GET": "GetBucketEncryption", "PUT": "PutBucketEncryption"}),
    ("list-type", {"GET": "ListObjectsV2"}),
)
_PLAIN_OBJECT = {
    "PUT": "PutObject",
    "GET": "GetObject",
    "HEAD": "HeadObject",
    "DELETE": "DeleteObject",
}
_PLAIN_BUCKET = {
    "PUT": "CreateBucket",
    "GET": "ListObjects",
    "HEAD": "HeadBucket",
    "DELETE": "DeleteBucket",
}


@dataclass(frozen=True, slots=True)
class ProxiedRequest:
    """What rules and policies look at. Names are decoded; the head has the bytes that were sent."""

    head: Head
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    raw_path: str = ""
    named: str = ""  # by its body, where GCS wants the name there

    @classmethod
    def of(cls, head: Head) -> "ProxiedRequest":
        """Read the first line of a request."""
        words = head.first.decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise BrokenMessage(f"not the first line of a request: {head.first[:80]!r}")
        path, _, query = words[1].partition("?")
        pairs = (part.partition("=") for part in query.split("&") if part)
        decoded = tuple((unquote_plus(name), unquote_plus(value)) for name, _, value in pairs)
        return cls(head, words[0], unquote(path), decoded, path)

    @property
    def is_gcs(self) -> bool:
        """Whether it speaks the JSON API of GCS; otherwise it speaks that of S3."""
        return is_gcs(self.raw_path)

    def with_name(self, body: bytes) -> "ProxiedRequest":
        """A copy that knows what the beginning of its body names."""
        return replace(self, named=name_in(body))

    @property
    def bucket(self) -> str:
        """The first part of the path; a bucket in the host name is not known here."""
        if self.is_gcs:
            return place_of(self.raw_path, dict(self.query))[0]
        return self.path.removeprefix("/").partition("/")[0]

    @property
    def key(self) -> str:
        """The rest of the path."""
        if self.is_gcs:
            return self.named or place_of(self.raw_path, dict(self.query))[1]
        return self.path.removeprefix("/").partition("/")[2]

    def value(self, name: str) -> str | None:
        """A value of the query, None where the name is not in it."""
        return next((value for found, value in self.query if found == name), None)

    @property
    def operation(self) -> str:
        """The name of the call: `PutObject`, `UploadPart` of S3."""
        if self.is_gcs:
            said = self.head.header("Content-Range") or ""
            return operation_of(self.method, self.raw_path, dict(self.query), said)
        if not self.bucket:
            return "ListBuckets"
        table, plain = (_OF_OBJECTS, _PLAIN_OBJECT) if self.key else (_OF_BUCKETS, _PLAIN_BUCKET)
        names = {name for name, _ in self.query}
        for word, by_method in table:
            if word in names and self.method in by_method:
                return by_method[self.method]
        if self.key and self.method == "PUT" and self.head.header("x-amz-copy-source"):
            return "CopyObject"
        return plain.get(self.method, f"{self.method} {'object' if self.key else 'bucket'}")
