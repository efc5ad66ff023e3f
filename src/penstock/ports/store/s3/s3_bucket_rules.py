"""What the rules of a bucket mean for a lake: uploads aborted by age, versions kept."""

from typing import TYPE_CHECKING

from penstock.errors import StoreUnavailable
from penstock.ports.store.s3.s3_failures import ERRORS
from penstock.ports.store.s3.s3_requests import Requests

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client
    from types_boto3_s3.type_defs import LifecycleRuleOutputTypeDef

LEAST_DAYS = 30
_NO_RULES = "NoSuchLifecycleConfiguration"


def risks_of(requests: Requests, prefix: str) -> list[str]:
    """Sentences about rules of the bucket that can harm a lake, or that could not be read."""
    return [*_risk_of_uploads(requests, prefix), *_risk_of_versions(requests)]


def _risk_of_uploads(requests: Requests, prefix: str) -> list[str]:
    bucket = requests.bucket
    try:
        days = requests.expect(
            "read the rules of", bucket, lambda client: _days(client, bucket, prefix)
        )
    except StoreUnavailable as error:
        return [
            f"The lifecycle rules of bucket {bucket!r} cannot be read ({error.found}). Make sure "
            f"that none aborts incomplete uploads before {LEAST_DAYS} days, and allow "
            "s3:GetLifecycleConfiguration."
        ]
    if days is None or days >= LEAST_DAYS:
        return []
    return [
        f"A lifecycle rule of bucket {bucket!r} aborts incomplete uploads after {days} "
        f"{'day' if days == 1 else 'days'}. A window that was decided and waits for longer loses "
        f"its files, which are then read from Kafka again, if it still has them. Set at least "
        f"{LEAST_DAYS} days."
    ]


def _days(client: "S3Client", bucket: str, prefix: str) -> int | None:
    """After how many days the first rule aborts open uploads of the lake; None: none does."""
    try:
        answer = client.get_bucket_lifecycle_configuration(Bucket=bucket)
    except ERRORS as error:
        if _NO_RULES in str(error):
            return None
        raise
    found = [
        rule["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"]
        for rule in answer.get("Rules", [])
        if "AbortIncompleteMultipartUpload" in rule and _concerns(rule, prefix)
    ]
    return min(found, default=None)


def _concerns(rule: "LifecycleRuleOutputTypeDef", prefix: str) -> bool:
    """True when a rule is on and its prefix and that of the lake have keys in common."""
    chosen = rule.get("Filter", {})
    word = chosen.get("Prefix") or chosen.get("And", {}).get("Prefix") or rule.get("Prefix") or ""
    return rule["Status"] == "Enabled" and (word.startswith(prefix) or prefix.startswith(word))


def _risk_of_versions(requests: Requests) -> list[str]:
    bucket = requests.bucket
    try:
        answer = requests.expect(
            "read the rules of", bucket, lambda client: client.get_bucket_versioning(Bucket=bucket)
        )
    except StoreUnavailable:
        return []  # only costs depend on it
    if answer.get("Status") != "Enabled":
        return []
    return [
        f"Bucket {bucket!r} keeps versions: files that compaction or retention deletes, and former "
        "beats of leases, stay as former versions and are paid for. A lifecycle rule that expires "
        "noncurrent versions removes them."
    ]
