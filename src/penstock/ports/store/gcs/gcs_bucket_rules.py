"""What the rules of a bucket mean for a lake: deletions by age, versions and deleted files kept."""

from collections.abc import Iterable, Mapping

from penstock.errors import StoreUnavailable
from penstock.ports.store.gcs.gcs_requests import GcsRequests

_DAY_S = 86_400


def gcs_risks_of(asks: GcsRequests, prefix: str) -> list[str]:
    """Sentences about rules of the bucket that can harm a lake, or that could not be read."""
    name = asks.bucket
    try:
        bucket = asks.bucket_facts()
    except StoreUnavailable as error:
        return [
            f"The lifecycle rules of bucket {name!r} cannot be read ({error.found}). Make sure "
            "that none deletes objects of the lake, and allow storage.buckets.get."
        ]
    return [
        *_risks_of_rules(name, bucket.lifecycle_rules, prefix),
        *_risk_of_retention(name, bucket.retention_period, bucket.default_event_based_hold),
        *_risk_of_versions(name, bool(bucket.versioning_enabled)),
        *_risk_of_soft_delete(name, bucket.soft_delete_policy),
    ]


def gcs_keeps_deleted(asks: GcsRequests) -> list[str]:
    """Sentences about what stays of deleted objects; none where the bucket may not be read."""
    try:
        bucket = asks.bucket_facts()
    except StoreUnavailable:
        return []
    return [
        *_risk_of_versions(asks.bucket, bool(bucket.versioning_enabled)),
        *_risk_of_soft_delete(asks.bucket, bucket.soft_delete_policy),
    ]


def _risks_of_rules(name: str, rules: Iterable[Mapping[str, object]], prefix: str) -> list[str]:
    """Rules that delete live objects of the lake, staged ones among them."""
    found = []
    for rule in rules:
        condition = rule.get("condition")
        action = rule.get("action")
        if not isinstance(condition, Mapping) or not isinstance(action, Mapping):
            continue
        if action.get("type") == "Delete" and _concerns(condition, prefix):
            said = ", ".join(f"{key}: {condition[key]}" for key in sorted(condition))
            found.append(
                f"A lifecycle rule of bucket {name!r} deletes objects of the lake ({said}). Files "
                "that wait to be published are lost by it and read from Kafka again, if it still "
                "has them; published files and the journal are not brought back. Restrict it by "
                "matchesPrefix to what is not the lake."
            )
    return found


def _concerns(condition: Mapping[str, object], prefix: str) -> bool:
    """True when a rule is about live objects, and about names that the lake may have."""
    if condition.get("isLive") is False or "numNewerVersions" in condition:
        return False
    if any(key in condition for key in ("daysSinceNoncurrentTime", "noncurrentTimeBefore")):
        return False
    words = condition.get("matchesPrefix")
    if not isinstance(words, list):
        return True
    return any(str(word).startswith(prefix) or prefix.startswith(str(word)) for word in words)


def _risk_of_retention(name: str, seconds: int | None, holds: bool | None) -> list[str]:
    if not seconds and not holds:
        return []
    return [
        f"Bucket {name!r} keeps every object by a retention policy or a default hold. A lake "
        "deletes what it has published from its staging, so no window would end. Use a bucket "
        "without them."
    ]


def _risk_of_versions(name: str, is_versioned: bool) -> list[str]:
    if not is_versioned:
        return []
    return [
        f"Bucket {name!r} keeps versions: staged files that were published, files that compaction "
        "or retention deletes, and former beats of leases, stay as noncurrent versions and are "
        "paid for. A lifecycle rule with daysSinceNoncurrentTime removes them."
    ]


def _risk_of_soft_delete(name: str, policy: object) -> list[str]:
    seconds = getattr(policy, "retention_duration_seconds", None)
    if not seconds:
        return []
    days = max(1, int(seconds) // _DAY_S)
    return [
        f"Bucket {name!r} keeps what was deleted for {days} {'day' if days == 1 else 'days'} (soft "
        "delete), and it is paid for: every file once more, since its staged object is deleted "
        "when it is published, and each former beat of a lease. A soft delete policy of 0 seconds "
        "turns that off."
    ]
