"""Requests to one bucket of S3 about whole objects. Uploads are in `s3_uploads.py`."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.block_reading import Piece
from penstock.ports.store.bucket.bucket_failures import BucketAnswer, Failure, Kind
from penstock.ports.store.bucket.bucket_objects import BucketObject, ObjectFacts
from penstock.ports.store.bucket.bucket_requests import BucketRequests
from penstock.ports.store.bucket.client_of_process import ClientOfProcess
from penstock.ports.store.s3.s3_clients import s3_clients
from penstock.ports.store.s3.s3_failures import CLIENT_ERRORS, ERRORS, judge
from penstock.ports.store.s3.s3_settings import S3Settings

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client


class S3Requests(BucketRequests["S3Client"]):
    """What is asked of the objects of one bucket. Keys are whole here. Safe to share."""

    def __init__(
        self,
        settings: S3Settings,
        policy: BackOff | None = None,
        waiting: Waiting | None = None,
        clients: "ClientOfProcess[S3Client] | None" = None,
    ) -> None:
        super().__init__(
            settings.bucket,
            settings.uri,
            clients or s3_clients(settings),
            ERRORS,
            CLIENT_ERRORS,
            policy,
            waiting,
        )
        self.settings = settings

    def put(self, act: str, key: str, data: bytes, tag: str | None) -> str:
        """Put an object where nothing is, or where one has this ETag; the ETag of the new one."""

        def put(client: "S3Client") -> str:
            common = {"Bucket": self.bucket, "Key": key, "Body": data, "ContentMD5": md5_of(data)}
            condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
            answer = client.put_object(**common, **condition, **self.settings.encryption)  # type: ignore[arg-type]
            return answer["ETag"]

        return self.send(act, key, put, changes=True)

    def get(self, key: str) -> tuple[bytes, str] | None:
        """The whole object with its tag; None when nothing is there."""

        def get(client: "S3Client") -> tuple[bytes, str]:
            answer = client.get_object(Bucket=self.bucket, Key=key)
            return answer["Body"].read(), answer["ETag"]

        return self.unless_absent("read", key, get)

    def get_range(self, key: str, start: int, length: int, tag: str | None) -> Piece | None:
        """Bytes of an object, fewer at its end; None when nothing is there, or, with a tag, not it.

        An object without bytes has no ranges; it is recognised by a HEAD.
        """

        def get(client: "S3Client") -> Piece:
            asked = {
                "Bucket": self.bucket,
                "Key": key,
                "Range": f"bytes={start}-{start + length - 1}",
            }
            condition = {} if tag is None else {"IfMatch": tag}
            answer = client.get_object(**asked, **condition)  # type: ignore[arg-type]
            data = answer["Body"].read()
            whole = answer.get("ContentRange", "").rpartition("/")[2]
            return Piece(data, int(whole) if whole.isdigit() else len(data), answer["ETag"])

        try:
            return self.send("read", key, get)
        except BucketAnswer as answer:
            if answer.kind in (Kind.ABSENT, Kind.TAKEN):
                return None
            facts = self.head(key) if answer.kind is Kind.NO_RANGE else None
            if facts is None or facts.size_bytes > start:
                raise self.odd_answer("read", key, answer) from answer
            return Piece(b"", facts.size_bytes, facts.tag)

    def head(self, key: str) -> ObjectFacts | None:
        """Size, tag and metadata of an object; None when nothing is there."""

        def head(client: "S3Client") -> ObjectFacts:
            answer = client.head_object(Bucket=self.bucket, Key=key)
            # Names of headers have no case, and some stores answer with one of their own.
            metadata = {name.lower(): word for name, word in answer["Metadata"].items()}
            return ObjectFacts(answer["ContentLength"], answer["ETag"], metadata)

        return self.unless_absent("look at", key, head)

    def delete(self, key: str) -> None:
        """Delete an object; nothing happens when nothing is there."""

        def delete(client: "S3Client") -> None:
            client.delete_object(Bucket=self.bucket, Key=key)

        self.unless_absent("delete", key, delete, changes=True)

    def delete_many(self, keys: Sequence[str]) -> set[str]:
        """Delete up to a page of objects in one request; the keys of which no answer says so."""

        def delete(client: "S3Client") -> set[str]:
            wanted = {"Objects": [{"Key": key} for key in keys], "Quiet": False}
            answer = client.delete_objects(Bucket=self.bucket, Delete=wanted)  # type: ignore[arg-type]
            return {each["Key"] for each in answer.get("Deleted", [])}

        gone = self.unless_absent("delete", keys[0], delete, changes=True)
        return set(keys) - (gone or set())

    def list_keys(self, prefix: str, after: str, page: int) -> Iterator[BucketObject]:
        """Objects with this beginning after another key, in order, page by page."""
        token = ""
        while True:
            found, token = self._page(prefix, after, token, page)
            yield from found
            if not token:
                return

    def _page(
        self, prefix: str, after: str, token: str, most: int
    ) -> tuple[list[BucketObject], str]:
        def page(client: "S3Client") -> tuple[list[BucketObject], str]:
            asked = {"Bucket": self.bucket, "Prefix": prefix, "MaxKeys": most}
            begin = (
                {"ContinuationToken": token} if token else {"StartAfter": after} if after else {}
            )
            answer = client.list_objects_v2(**asked, **begin)  # type: ignore[arg-type]
            found = [
                BucketObject(each["Key"], each["Size"], each["ETag"])
                for each in answer.get("Contents", [])
            ]
            return found, answer.get("NextContinuationToken", "") if answer["IsTruncated"] else ""

        return self.expect("list", prefix, page)

    def _judge(self, error: Exception, client: "S3Client") -> Failure:
        return judge(error, self.bucket, client.meta.endpoint_url)

    def _judge_making(self, error: Exception) -> Failure:
        return judge(error, self.bucket, self.settings.endpoint)


def md5_of(data: bytes) -> str:
    """The checksum that a request carries, so that a store takes only what was sent."""
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
