"""What the rules of a bucket mean for a lake: uploads aborted by age, versions kept."""

from typing import TYPE_CHECKING

from penstock.errors import StoreUnavailable
from penstock.ports.store.s3.s3_failures import ERRORS
from penstock.ports.store.s3.s3_requests import S3Requests

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client
    from types_boto3_s3.type_defs import LifecycleRuleOutputTypeDef

LEAST_DAYS = 30
_ARCHIVES = frozenset({"GLACIER", "DEEP_ARCHIVE"})  # from which nothing is read at once
_NO_RULES = "NoSuchLifecycleConfiguration"


def risks_of(requests: S3Requests, prefix: str) -> list[str]:
    """Sentences about rules of the bucket that can harm a lake, or that could not be read."""
    return [*_risks_of_rules(requests, prefix), *risk_of_versions(requests)]


def _risks_of_rules(requests: S3Requests, prefix: str) -> list[str]:
    bucket = requests.bucket
    try:
        rules = requests.expect("read the rules of", bucket, lambda client: _rules(client, bucket))
    except StoreUnavailable as error:
        return [
            f"The lifecycle rules of bucket {bucket!r} cannot be read: {error.why}. Make sure that "
            f"none aborts incomplete uploads before {LEAST_DAYS} days or expires objects below "
            f"{prefix!r}, and allow s3:GetLifecycleConfiguration where the store knows it."
        ]
    concerning = [rule for rule in rules if _concerns(rule, prefix)]
    return [*_risk_of_uploads(bucket, concerning), *_risk_of_objects(bucket, prefix, concerning)]


def _rules(client: "S3Client", bucket: str) -> "list[LifecycleRuleOutputTypeDef]":
    try:
        answer = client.get_bucket_lifecycle_configuration(Bucket=bucket)
    except ERRORS as error:
        if _NO_RULES in str(error):
            return []
        raise
    return answer.get("Rules", [])


def _risk_of_uploads(bucket: str, rules: "list[LifecycleRuleOutputTypeDef]") -> list[str]:
    """After how many days the first rule aborts open uploads of the lake, if that is too soon."""
    found = [
        rule["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"]
        for rule in rules
        if "AbortIncompleteMultipartUpload" in rule
    ]
    days = min(found, default=LEAST_DAYS)
    if days >= LEAST_DAYS:
        return []
    return [
        f"A lifecycle rule of bucket {bucket!r} aborts incomplete uploads after {days} "
        f"{'day' if days == 1 else 'days'}. A window that was decided and waits for longer loses "
        f"its files, which are then read from Kafka again, if it still has them. Set at least "
        f"{LEAST_DAYS} days."
    ]


def _risk_of_objects(
    bucket: str, prefix: str, rules: "list[LifecycleRuleOutputTypeDef]"
) -> list[str]:
    """What becomes of objects of the lake that nobody has deleted. None of them has a tag."""
    untagged = [rule for rule in rules if not _wants_a_tag(rule)]
    place = repr(prefix) if prefix else "the whole bucket"
    found = []
    if any({"Days", "Date"} & rule.get("Expiration", {}).keys() for rule in untagged):
        found.append(
            f"A lifecycle rule of bucket {bucket!r} expires objects of the lake. Rows vanish then, "
            "which audits tell as lost, and a journal without its entries stops its feed. Leave "
            f"{place} out of the rule."
        )
    if any(
        each.get("StorageClass") in _ARCHIVES
        for rule in untagged
        for each in rule.get("Transitions", [])
    ):
        found.append(
            f"A lifecycle rule of bucket {bucket!r} moves objects of the lake into an archive, "
            "from which nobody can read them at once: neither readers, nor audits, nor the next "
            f"run. Leave {place} out of the rule, or choose another storage class."
        )
    return found


def _wants_a_tag(rule: "LifecycleRuleOutputTypeDef") -> bool:
    chosen = rule.get("Filter", {})
    return "Tag" in chosen or bool(chosen.get("And", {}).get("Tags"))


def _concerns(rule: "LifecycleRuleOutputTypeDef", prefix: str) -> bool:
    """True when a rule is on and its prefix and that of the lake have keys in common."""
    chosen = rule.get("Filter", {})
    word = chosen.get("Prefix") or chosen.get("And", {}).get("Prefix") or rule.get("Prefix") or ""
    return rule["Status"] == "Enabled" and (word.startswith(prefix) or prefix.startswith(word))


def risk_of_versions(requests: S3Requests) -> list[str]:
    """What stays of deleted objects; nothing is known where the versioning may not be read."""
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
