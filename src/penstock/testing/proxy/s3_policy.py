"""Policies of IAM, as far as object stores need them: who may do what below which prefix.

Effect, Action, Resource, and conditions on `s3:prefix`. Anything else in a policy is an error here,
never a silent yes.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.testing.proxy.proxied_request import ProxiedRequest

ARN = "arn:aws:s3:::"
LIST_BUCKET = "s3:ListBucket"

# What right each call needs. Calls that are not here need one of their own name.
_ACTIONS = {
    "HeadObject": "s3:GetObject",
    "GetObjectAttributes": "s3:GetObject",
    "CreateMultipartUpload": "s3:PutObject",
    "UploadPart": "s3:PutObject",
    "CompleteMultipartUpload": "s3:PutObject",
    "CopyObject": "s3:PutObject",
    "ListParts": "s3:ListMultipartUploadParts",
    "ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "ListObjects": LIST_BUCKET,
    "ListObjectsV2": LIST_BUCKET,
    "HeadBucket": LIST_BUCKET,
    "ListObjectVersions": "s3:ListBucketVersions",
    "DeleteObjects": "s3:DeleteObject",
    "GetBucketLifecycleConfiguration": "s3:GetLifecycleConfiguration",
    "PutBucketLifecycle": "s3:PutLifecycleConfiguration",
}
_OF_VERSIONS = {"s3:GetObject": "s3:GetObjectVersion", "s3:DeleteObject": "s3:DeleteObjectVersion"}
_PREFIX = "s3:prefix"
_CONDITIONS = ("StringEquals", "StringLike")


@dataclass(frozen=True, slots=True)
class Wish:
    """A right that a request needs: one action on one resource."""

    action: str
    resource: str
    prefix: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a policy. `prefixes` are patterns; None where it has no condition."""

    is_allow: bool
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    prefixes: tuple[str, ...] | None = None
    if_exists: bool = False

    def covers(self, wish: Wish) -> bool:
        """Whether this statement is about the right that is asked for."""
        return (
            _is_like(wish.action, self.actions)
            and _is_like(wish.resource, self.resources)
            and self._condition_holds(wish.prefix)
        )

    def _condition_holds(self, prefix: str | None) -> bool:
        if self.prefixes is None:
            return True
        # A request without a prefix meets no condition on it, unless that says `IfExists`.
        return self.if_exists if prefix is None else _is_like(prefix, self.prefixes)


@dataclass(frozen=True, slots=True)
class Policy:
    """What is allowed: what some statement allows and none denies."""

    statements: tuple[Statement, ...]

    @classmethod
    def from_json(cls, text: str, values: Mapping[str, str] | None = None) -> "Policy":
        """Read a policy; `values` are put where the text has these words: `BUCKET`, `PREFIX`."""
        for word, value in (values or {}).items():
            text = text.replace(word, value)
        document = json.loads(text)
        return cls(tuple(_statement(each) for each in document["Statement"]))

    def allows(self, wish: Wish) -> bool:
        """An explicit denial wins; without any permission the answer is no."""
        covering = [each for each in self.statements if each.covers(wish)]
        return bool(covering) and all(each.is_allow for each in covering)

    def without(self, action: str) -> "Policy":
        """A copy in which nothing allows this action; for tests of each missing right."""
        return Policy((*self.statements, Statement(False, (action,), ("*",))))

    def denied(self, wishes: Iterable[Wish]) -> list[Wish]:
        """Those of the rights that are missing."""
        return [wish for wish in wishes if not self.allows(wish)]

    def hides_absence(self, bucket: str) -> bool:
        """Without the right to list, S3 answers 403 instead of 404 for a key that is not there."""
        return not self.allows(Wish(LIST_BUCKET, ARN + bucket))


def wish_of(request: ProxiedRequest) -> Wish:
    """The right that a request needs. For `DeleteObjects` see `deletion_wishes`."""
    action = _ACTIONS.get(request.operation, f"s3:{request.operation}")
    if request.value("versionId") is not None:
        action = _OF_VERSIONS.get(action, action)
    if request.key:
        return Wish(action, f"{ARN}{request.bucket}/{request.key}")
    return Wish(action, ARN + request.bucket, request.value("prefix"))


def deletion_wishes(bucket: str, keys: Sequence[str]) -> list[Wish]:
    """The rights that are needed to delete many objects, one for each."""
    return [Wish("s3:DeleteObject", f"{ARN}{bucket}/{key}") for key in keys]


def _statement(found: Mapping[str, object]) -> Statement:
    unknown = set(found) - {"Sid", "Effect", "Action", "Resource", "Condition"}
    if unknown or found["Effect"] not in ("Allow", "Deny"):
        raise ValueError(f"a statement that is not known here: {found}")
    prefixes, if_exists = _condition(found.get("Condition"))
    return Statement(
        found["Effect"] == "Allow",
        _texts(found["Action"]),
        _texts(found["Resource"]),
        prefixes,
        if_exists,
    )


def _condition(found: object) -> tuple[tuple[str, ...] | None, bool]:
    """The patterns of a condition on the prefix, and whether it may be missing."""
    if found is None:
        return None, False
    if not isinstance(found, dict) or len(found) != 1:
        raise ValueError(f"a condition that is not known here: {found}")
    [(operator, keys)] = found.items()
    if operator.removesuffix("IfExists") not in _CONDITIONS or set(keys) != {_PREFIX}:
        raise ValueError(f"a condition that is not known here: {found}")
    return _texts(keys[_PREFIX]), operator.endswith("IfExists")


def _texts(found: object) -> tuple[str, ...]:
    if isinstance(found, str):
        return (found,)
    if isinstance(found, list) and all(isinstance(each, str) for each in found):
        return tuple(found)
    raise ValueError(f"neither a text nor a list of texts: {found}")


def _is_like(text: str, patterns: Iterable[str]) -> bool:
    """IAM knows the star and the question mark, and no other special character."""
    return any(
        re.fullmatch(re.escape(each).replace(r"\*", ".*").replace(r"\?", "."), text, re.DOTALL)
        for each in patterns
    )
