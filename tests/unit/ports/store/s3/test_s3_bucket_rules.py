"""What is said about the rules of a bucket."""

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from penstock.model.plugin import PluginRef
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.bucket.client_of_process import ClientOfProcess
from penstock.ports.store.s3.s3_bucket_rules import risks_of
from penstock.ports.store.s3.s3_requests import S3Requests
from penstock.ports.store.s3.s3_settings import read_settings


class Bucket:
    """A client of a bucket with these rules, or with an error instead of them."""

    def __init__(self, rules: Any, versioning: str = "") -> None:
        self._rules = rules
        self._versioning = versioning

    @property
    def meta(self) -> Any:
        return SimpleNamespace(endpoint_url="https://s3.example.com")

    def get_bucket_lifecycle_configuration(self, **_: str) -> Any:
        if isinstance(self._rules, str):
            status = 404 if self._rules.startswith("NoSuch") else 403
            answer = {
                "Error": {"Code": self._rules, "Message": "No."},
                "ResponseMetadata": {"HTTPStatusCode": status},
            }
            raise ClientError(answer, "GetBucketLifecycleConfiguration")  # type: ignore[arg-type]
        return {"Rules": self._rules}

    def get_bucket_versioning(self, **_: str) -> Any:
        return {"Status": self._versioning} if self._versioning else {}


def risks(bucket: Bucket) -> list[str]:
    opener = PluginRef("store", "s3", "penstock.ports.store.s3.s3_store:open_s3")
    settings = read_settings(StoreSpec("s3", "bucket/lake", opener))
    waiting = Waiting(lambda: 0.0, lambda _s: None, lambda: 0.0)
    clients: Any = ClientOfProcess(lambda: bucket, can_renew=False)
    return risks_of(S3Requests(settings, BackOff(tries=2), waiting, clients), "lake/")


def rule(
    days: int, prefix: str | None = None, status: str = "Enabled", form: str = "Filter"
) -> Any:
    found: dict[str, Any] = {
        "Status": status,
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": days},
    }
    if prefix is not None:
        forms: dict[str, Any] = {
            "Filter": {"Filter": {"Prefix": prefix}},
            "And": {"Filter": {"And": {"Prefix": prefix}}},
            "Prefix": {"Prefix": prefix},
        }
        found |= forms[form]
    return found


@pytest.mark.parametrize(
    "rules",
    [
        "NoSuchLifecycleConfiguration",
        [],
        [{"Status": "Disabled", "Expiration": {"Days": 1}}],
        [{"Status": "Enabled", "Expiration": {"ExpiredObjectDeleteMarker": True}}],
        [{"Status": "Enabled", "Expiration": {"Days": 1}, "Filter": {"Prefix": "tmp/"}}],
        [{"Status": "Enabled", "Expiration": {"Days": 1}, "Filter": {"Tag": {"Key": "old"}}}],
        [{"Status": "Enabled", "NoncurrentVersionExpiration": {"NoncurrentDays": 1}}],
        [{"Status": "Enabled", "Transitions": [{"Days": 1, "StorageClass": "STANDARD_IA"}]}],
        [rule(30)],
        [rule(1, status="Disabled")],
        [rule(1, "other/")],
        [rule(1, "lakes/")],
    ],
)
def test_nothing_is_said_about_a_bucket_that_leaves_uploads_alone(rules: Any) -> None:
    assert risks(Bucket(rules)) == []


@pytest.mark.parametrize("form", ["Filter", "And", "Prefix"])
@pytest.mark.parametrize("prefix", [None, "", "la", "lake/", "lake/events/"])
def test_a_rule_that_aborts_uploads_early_is_told(form: str, prefix: str | None) -> None:
    (sentence,) = risks(Bucket([rule(90), rule(7, prefix, form=form)]))
    assert "after 7 days" in sentence
    assert "at least 30 days" in sentence


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"Expiration": {"Days": 400}}, "expires objects of the lake"),
        ({"Expiration": {"Date": "2027-01-01"}, "Prefix": "lake/events/"}, "expires objects"),
        ({"Transitions": [{"Days": 90, "StorageClass": "GLACIER"}]}, "into an archive"),
    ],
)
def test_a_rule_that_takes_objects_away_is_told(what: dict[str, Any], words: str) -> None:
    (sentence,) = risks(Bucket([{"Status": "Enabled", **what}]))
    assert words in sentence
    assert "'lake/'" in sentence


@pytest.mark.parametrize("code", ["AccessDenied", "NotImplemented"])
def test_rules_that_cannot_be_read_are_told(code: str) -> None:
    (sentence,) = risks(Bucket(code))
    assert "cannot be read: " in sentence
    assert sentence.count("'bucket'") == 2
    assert "s3:GetLifecycleConfiguration" in sentence


def test_a_bucket_with_versions_is_told() -> None:
    assert risks(Bucket([], "Suspended")) == []
    (sentence,) = risks(Bucket([], "Enabled"))
    assert "keeps versions" in sentence
