"""Requests about uploads in parts: begun at the final key, left open, completed or given up."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote_plus

from penstock.ports.store.bucket.bucket_failures import BucketAnswer, Kind
from penstock.ports.store.bucket.bucket_objects import PAGE
from penstock.ports.store.s3.s3_requests import S3Requests

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

_NO_UPLOAD = frozenset({Kind.NO_UPLOAD, Kind.ABSENT})
_CHUNK_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class OpenUpload:
    """An upload that a listing shows."""

    key: str
    upload: str
    began: datetime | None = None


class Uploads:
    """What is asked of the uploads of one bucket. Keys are whole here. Safe to share."""

    def __init__(self, requests: S3Requests) -> None:
        self._requests = requests
        self._bucket = requests.bucket

    def begin(self, key: str, metadata: dict[str, str]) -> str:
        """Begin an upload; its id. One whose answer was lost stays open until it is cleaned."""

        def begin(client: "S3Client") -> str:
            answer = client.create_multipart_upload(
                Bucket=self._bucket,
                Key=key,
                Metadata=metadata,
                **self._requests.settings.encryption,  # type: ignore[arg-type]
            )
            return answer["UploadId"]

        return self._requests.expect("stage", key, begin)

    def send_part(self, key: str, upload: str, number: int, part: IO[bytes]) -> str:
        """Send one part, again under the same number if no answer came; its tag."""
        digest = hashlib.md5(usedforsecurity=False)
        part.seek(0)
        while piece := part.read(_CHUNK_BYTES):
            digest.update(piece)
        checksum = base64.b64encode(digest.digest()).decode()

        def send(client: "S3Client") -> str:
            part.seek(0)
            answer = client.upload_part(
                Bucket=self._bucket,
                Key=key,
                UploadId=upload,
                PartNumber=number,
                Body=part,
                ContentMD5=checksum,
            )
            return answer["ETag"]

        return self._requests.expect("stage", key, send)

    def complete(self, key: str, upload: str, tags: Sequence[str]) -> None:
        """Make an object of the parts, where nothing is. Raises `BucketAnswer`, `OutcomeUnknown`.

        That it returns does not prove that the object is there.
        """

        def complete(client: "S3Client") -> None:
            parts = [{"PartNumber": n, "ETag": tag} for n, tag in enumerate(tags, start=1)]
            client.complete_multipart_upload(
                Bucket=self._bucket,
                Key=key,
                UploadId=upload,
                MultipartUpload={"Parts": parts},  # type: ignore[typeddict-item]
                IfNoneMatch="*",
            )

        self._requests.send("publish", key, complete, changes=True)

    def is_open(self, key: str, upload: str) -> bool:
        """True when parts of the upload are there to be completed."""

        def look(client: "S3Client") -> bool:
            answer = client.list_parts(Bucket=self._bucket, Key=key, UploadId=upload, MaxParts=1)
            # Some stores show an upload that is gone as one without parts; an empty answer, which
            # lacks this too, says nothing.
            return answer["IsTruncated"] or bool(answer.get("Parts"))

        try:
            return self._requests.send("look at", key, look)
        except BucketAnswer as answer:
            if answer.kind in _NO_UPLOAD:
                return False
            raise self._requests.odd_answer("look at", key, answer) from answer

    def abort(self, key: str, upload: str) -> None:
        """Give an upload up; nothing happens when it is not open."""

        def abort(client: "S3Client") -> None:
            client.abort_multipart_upload(Bucket=self._bucket, Key=key, UploadId=upload)

        try:
            self._requests.send("discard", key, abort, changes=True)
        except BucketAnswer as answer:
            if answer.kind not in _NO_UPLOAD:
                raise self._requests.odd_answer("discard", key, answer) from answer

    def list_open(self, prefix: str) -> Iterator[OpenUpload]:
        """Every upload that was begun below a prefix and is open, page by page."""
        marks: dict[str, str] = {}
        while True:
            found, marks = self._page(prefix, marks)
            yield from found
            if not marks:
                return

    def _page(self, prefix: str, marks: dict[str, str]) -> tuple[list[OpenUpload], dict[str, str]]:
        def page(client: "S3Client") -> tuple[list[OpenUpload], dict[str, str]]:
            answer = client.list_multipart_uploads(
                Bucket=self._bucket,
                Prefix=prefix,
                MaxUploads=PAGE,
                EncodingType="url",
                **marks,  # type: ignore[arg-type]
            )
            is_encoded = answer.get("EncodingType") == "url"

            def plain(word: str) -> str:
                return unquote_plus(word) if is_encoded else word

            found = [
                OpenUpload(plain(each["Key"]), each["UploadId"], each.get("Initiated"))
                for each in answer.get("Uploads", [])
            ]
            if not answer["IsTruncated"]:
                return found, {}
            return found, {
                "KeyMarker": plain(answer["NextKeyMarker"]),
                "UploadIdMarker": answer["NextUploadIdMarker"],
            }

        return self._requests.expect("list the uploads of", prefix, page)
