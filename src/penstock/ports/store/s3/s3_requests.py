"""Requests to one bucket, each tried again while that can help; objects are read and written here.

Nothing is repeated that could act twice: writes of objects are conditional, and all else leaves the
same behind however often it is done. Uploads are in `s3_uploads.py`.
"""

import base64
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.block_reading import Piece
from penstock.ports.store.machine_waiting import real_waiting
from penstock.ports.store.s3.s3_clients import Clients
from penstock.ports.store.s3.s3_failures import (
    ANSWERS,
    CLIENT_ERRORS,
    ERRORS,
    PASSING,
    Failure,
    Kind,
    S3Answer,
    judge,
)
from penstock.ports.store.s3.s3_settings import S3Settings

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

RENEWALS = 2
PAGE = 1000  # keys of a listing, or of a deletion, in one request

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """What a HEAD says about an object."""

    size_bytes: int
    tag: str
    metadata: dict[str, str]


class Requests:
    """What is asked of the objects of one bucket. Keys are whole here. Safe to share."""

    def __init__(
        self,
        settings: S3Settings,
        clients: Clients,
        policy: BackOff | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        self.settings = settings
        self.bucket = settings.bucket
        self.policy = policy or BackOff()
        self.waiting = waiting or real_waiting()
        self._clients = clients

    def send(
        self, act: str, key: str, call: "Callable[[S3Client], T]", *, changes: bool = False
    ) -> T:
        """Send a request until it is answered.

        Raises `S3Answer` for an answer that callers expect, such as that nothing is there;
        `StoreUnavailable` if certainly nothing was changed, else `OutcomeUnknown`.
        """
        until = self.waiting.tick() + self.policy.within_s
        doubt: Failure | None = None
        renewals = RENEWALS
        pauses = list(self.policy.pauses_s(self.waiting.random))
        while True:
            client = self._client(act, key, doubt)
            try:
                return call(client)
            except ERRORS as error:
                failure = judge(error, self.bucket, client.meta.endpoint_url)
                if failure.kind in ANSWERS:
                    raise S3Answer(failure.kind) from error
                if failure.may_have_happened and changes:
                    doubt = failure
                if failure.wants_new_keys and renewals and self._clients.can_renew:
                    renewals -= 1
                    self._clients.renew(client)
                    continue
                is_late = self.waiting.tick() > until
                if failure.kind not in PASSING or not pauses or is_late:
                    raise _given_up(act, key, failure, doubt) from error
            self.waiting.sleep(pauses.pop(0))

    def expect(self, act: str, key: str, call: "Callable[[S3Client], T]") -> T:
        """Send a request that has no answer but its result; what it changes nobody sees yet."""
        try:
            return self.send(act, key, call)
        except S3Answer as answer:
            raise self.odd_answer(act, key, answer) from answer

    def put(self, act: str, key: str, data: bytes, tag: str | None) -> str:
        """Put an object where nothing is, or, with a tag, where the object with that tag is.

        The tag of the new object; raises `S3Answer`.
        """

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

        return self._unless_absent("read", key, get)

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
        except S3Answer as answer:
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

        return self._unless_absent("look at", key, head)

    def delete(self, key: str) -> None:
        """Delete an object; nothing happens when nothing is there."""

        def delete(client: "S3Client") -> None:
            client.delete_object(Bucket=self.bucket, Key=key)

        self._unless_absent("delete", key, delete, changes=True)

    def delete_many(self, keys: Sequence[str]) -> set[str]:
        """Delete up to a page of objects in one request; the keys of which no answer says so."""

        def delete(client: "S3Client") -> set[str]:
            wanted = {"Objects": [{"Key": key} for key in keys], "Quiet": False}
            answer = client.delete_objects(Bucket=self.bucket, Delete=wanted)  # type: ignore[arg-type]
            return {each["Key"] for each in answer.get("Deleted", [])}

        gone = self._unless_absent("delete", keys[0], delete, changes=True)
        return set(keys) - (gone or set())

    def list_keys(self, prefix: str, after: str, page: int) -> Iterator[tuple[str, int]]:
        """Keys with this beginning after another key, with sizes, in order, page by page."""
        token = ""
        while True:
            found, token = self._page(prefix, after, token, page)
            yield from found
            if not token:
                return

    def _page(
        self, prefix: str, after: str, token: str, most: int
    ) -> tuple[list[tuple[str, int]], str]:
        def page(client: "S3Client") -> tuple[list[tuple[str, int]], str]:
            asked = {"Bucket": self.bucket, "Prefix": prefix, "MaxKeys": most}
            begin = (
                {"ContinuationToken": token} if token else {"StartAfter": after} if after else {}
            )
            answer = client.list_objects_v2(**asked, **begin)  # type: ignore[arg-type]
            found = [(each["Key"], each["Size"]) for each in answer.get("Contents", [])]
            return found, answer.get("NextContinuationToken", "") if answer["IsTruncated"] else ""

        return self.expect("list", prefix, page)

    def _unless_absent(
        self, act: str, key: str, call: "Callable[[S3Client], T]", *, changes: bool = False
    ) -> T | None:
        """The answer; None when it is that nothing is there."""
        try:
            return self.send(act, key, call, changes=changes)
        except S3Answer as answer:
            if answer.kind is Kind.ABSENT:
                return None
            raise self.odd_answer(act, key, answer) from answer

    def odd_answer(self, act: str, key: str, answer: S3Answer) -> StoreUnavailable:
        """The error for an answer that nobody expects here."""
        why = f"bucket {self.bucket!r} said that {answer.kind.value}, which was not asked"
        return StoreUnavailable(act, key, why)

    def _client(self, act: str, key: str, doubt: Failure | None) -> "S3Client":
        try:
            return self._clients.current()
        except CLIENT_ERRORS as error:
            failure = judge(error, self.bucket, self.settings.endpoint)
            raise _given_up(act, key, failure, doubt) from error


def md5_of(data: bytes) -> str:
    """The checksum that a request carries, so that a store takes only what was sent."""
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


def _given_up(act: str, key: str, failure: Failure, doubt: Failure | None) -> Exception:
    if doubt is not None:
        return OutcomeUnknown(act, key, doubt.why)
    if failure.kind is Kind.CONFLICT:
        return S3Answer(Kind.CONFLICT)
    return StoreUnavailable(act, key, failure.why)
