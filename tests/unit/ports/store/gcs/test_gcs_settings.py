"""What `store:` may say for a lake on GCS, and which names its bucket gets."""

import pytest

from penstock.api.errors import StoreSettingUnknown, StoreSettingWrong
from penstock.model.plugin import PluginRef
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.gcs.gcs_keys import GcsKeys
from penstock.ports.store.gcs.gcs_settings import MIB, GcsSettings, read_settings


def settings_of(address: str = "bucket/some/prefix", **settings: str) -> GcsSettings:
    opener = PluginRef("store", "gs", "penstock.ports.store.gcs.gcs_store:open_gcs")
    return read_settings(StoreSpec("gs", address, opener, settings))


def test_a_bucket_and_a_prefix_are_enough() -> None:
    found = settings_of()
    assert (found.bucket, found.prefix) == ("bucket", "some/prefix")
    assert (found.chunk_bytes, found.anonymous, found.timeout_s) == (8 * MIB, False, (5.0, 60.0))
    assert settings_of("bucket").prefix == ""
    assert settings_of("bucket").uri == "gs://bucket"


def test_every_setting_is_read() -> None:
    found = settings_of(
        endpoint="https://store.example/", project="p", user_project="u", kms_key="k",
        credentials_file="/key.json", chunk_size="512KiB", ca="/ca.pem", connect_timeout="2s",
        read_timeout="2m",
    )  # fmt: skip
    assert found.endpoint == "https://store.example"
    assert (found.project, found.user_project, found.kms_key) == ("p", "u", "k")
    assert (found.credentials_file, found.ca, found.chunk_bytes) == ("/key.json", "/ca.pem", 2**19)
    assert found.timeout_s == (2.0, 120.0)
    assert settings_of(anonymous="yes").anonymous


def test_an_unknown_setting_is_refused_with_the_list() -> None:
    with pytest.raises(StoreSettingUnknown, match=r"'endpont'.*anonymous, ca, .*endpoint"):
        settings_of(endpont="x")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"anonymous": "maybe"}, "true or false"),
        ({"chunk_size": "300KiB"}, "a multiple of 256KiB"),
        ({"chunk_size": "2GiB"}, "up to 1GiB"),
        ({"chunk_size": "large"}, "a multiple of 256KiB"),
        ({"endpoint": "localhost:4443"}, "an address such as"),
        ({"read_timeout": "0s"}, "a duration"),
        ({"credentials_file": "/k.json", "anonymous": "true"}, "left out"),
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, str], words: str) -> None:
    with pytest.raises(StoreSettingWrong, match=words):
        settings_of(**settings)


def test_a_prefix_that_gcs_keeps_for_itself_is_refused() -> None:
    with pytest.raises(StoreSettingWrong, match="acme-challenge"):
        settings_of("bucket/.well-known/acme-challenge/lake")


@pytest.mark.parametrize("prefix", ["", "p", "deep/er"])
def test_a_key_goes_to_the_bucket_and_back(prefix: str) -> None:
    keys = GcsKeys(prefix)
    for key in ("a", "a\r\nb", "a/\x01\x85", "a/\u2426", "a/\u24260001", ".well-known/other"):
        assert keys.relative(keys.whole(key)) == key
    assert not {"\r", "\n", "\x85"} & set(keys.whole("a\r\n\x85"))


def test_the_folder_that_gcs_keeps_for_itself_is_encoded_at_the_root_alone() -> None:
    for key in (".well-known/acme-challenge", ".well-known/acme-challenge/token"):
        assert not GcsKeys("").whole(key).startswith(".well-known/acme-challenge")
        assert GcsKeys("").relative(GcsKeys("").whole(key)) == key
        assert GcsKeys("").relative(key) is None, "nobody can have made it"
    assert GcsKeys("").whole(".well-known/acme-challenges") == ".well-known/acme-challenges"
