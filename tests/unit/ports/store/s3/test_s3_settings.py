"""What `store:` may say for a lake on S3."""

import pytest

from penstock.api.errors import StoreSettingUnknown, StoreSettingWrong
from penstock.model.plugin import PluginRef
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.s3.s3_settings import MIB, S3Settings, read_settings

CANARY = "c4n4ry-s3cr3t"


def settings_of(address: str = "bucket/some/prefix", **settings: str) -> S3Settings:
    opener = PluginRef("store", "s3", "penstock.ports.store.s3.s3_store:open_s3")
    return read_settings(StoreSpec("s3", address, opener, settings))


def test_a_bucket_and_a_prefix_are_enough() -> None:
    found = settings_of()
    assert (found.bucket, found.prefix) == ("bucket", "some/prefix")
    assert (found.part_size_bytes, found.path_style, found.encryption) == (16 * MIB, False, {})
    assert settings_of("bucket").prefix == ""
    assert settings_of("bucket").uri == "s3://bucket"


def test_every_setting_is_read() -> None:
    found = settings_of(
        endpoint="https://store.example/", region="eu-west-1", path_style="true", access_key="a",
        secret_key="b", session_token="c", sse="aws:kms", kms_key="k", part_size="64MiB",
        ca="/ca.pem", connect_timeout="2s", read_timeout="1m",
    )  # fmt: skip
    assert found.endpoint == "https://store.example"
    assert found.path_style
    assert found.part_size_bytes == 64 * MIB
    assert (found.connect_timeout_s, found.read_timeout_s) == (2.0, 60.0)
    assert found.encryption == {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "k"}


def test_an_unknown_setting_is_refused_with_the_list() -> None:
    with pytest.raises(StoreSettingUnknown, match=r"'endpont'.*access_key, ca, .*endpoint.*sse"):
        settings_of(endpont="x")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"path_style": "maybe"}, "true or false"),
        ({"part_size": "1MB"}, "a size from 5MiB to 5GiB"),
        ({"part_size": "large"}, "a size from 5MiB to 5GiB"),
        ({"endpoint": "localhost:9000"}, "an address such as"),
        ({"sse": "rot13"}, "AES256 or aws:kms"),
        ({"kms_key": "k"}, "together with sse"),
        ({"connect_timeout": "0s"}, "a duration"),
        ({"access_key": CANARY}, "together with secret_key"),
        ({"secret_key": CANARY}, "together with secret_key"),
        ({"session_token": CANARY}, "together with access_key"),
        ({"profile": "p", "access_key": CANARY, "secret_key": CANARY}, "left out"),
    ],
)
def test_a_wrong_setting_is_refused_and_no_secret_is_shown(
    settings: dict[str, str], words: str
) -> None:
    with pytest.raises(StoreSettingWrong) as caught:
        settings_of(**settings)
    assert words in str(caught.value)
    assert CANARY not in str(caught.value)


def test_settings_do_not_show_their_secrets() -> None:
    assert CANARY not in repr(settings_of(access_key=CANARY, secret_key=CANARY))
