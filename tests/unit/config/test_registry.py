"""Settings of a schema registry: what is refused before anybody is asked, and without its value."""

from pathlib import Path

import pytest

from penstock.config.clients import registry_complaint, reveal_registry
from penstock.config.errors import ConfigInvalid
from penstock.config.secrets import with_stand_ins
from penstock.model.spec import RegistrySpec

URL = "http://localhost:8081/apis/ccompat/v7"


def test_settings_become_a_spec_with_its_secrets_in_place() -> None:
    settings = {"url": f"{URL}/", "user": "me", "password": "${env:WORD}", "timeout": "3s"}
    found = reveal_registry(settings, {"WORD": "pass: word"})
    assert found == RegistrySpec(URL, user="me", password="pass: word", timeout_s=3.0)


def test_no_settings_mean_no_registry() -> None:
    assert reveal_registry({}, {}) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("url", "ftp://host"),
        ("url", "http://me:word@host"),
        ("url", "http://host/?a=b"),
        ("url", "http://host/#a"),
        ("url", "http://[::1"),
        ("url", "http://::1]:8081"),
        ("url", "http://host:99999"),
        ("url", f"http://host:{'9' * 5000}"),
        ("url", "http://a:8081,http://b:8081"),
        ("token", "two\nlines"),
        ("token", "not-ascii-€"),
        ("user", "me:word"),
        ("timeout", "soon"),
        ("adress", "http://host"),
    ],
)
def test_what_cannot_be_is_refused(key: str, value: str) -> None:
    assert registry_complaint(key, value) is not None
    with pytest.raises(ConfigInvalid) as caught:
        reveal_registry({"url": URL} | {key: "${env:IT}"}, {"IT": value})
    assert value not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_a_file_of_authorities_that_cannot_be_used_is_named(
    tmp_path: Path, content: bytes | None
) -> None:
    """Goal: a mistake in the file is told at the start, as a mistake."""
    place = tmp_path / "ca.pem"
    if content is not None:
        place.write_bytes(content)
    with pytest.raises(ConfigInvalid, match=r"registry\.ca: .*ca\.pem.*PEM"):
        reveal_registry({"url": URL, "ca": str(place)}, {})


@pytest.mark.parametrize("more", [",http://b:8081", ", http://b:8081", ",b:8081"])
def test_several_addresses_are_refused_as_such(more: str) -> None:
    """Confluent's own clients take a list, so it may be tried."""
    refused = registry_complaint("url", f"http://a:8081{more}")
    assert refused is not None
    assert "several addresses" in str(refused)


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1]:8081",
        "http://host",
        "https://host:443/a,b",
        "http://${env:HOST}:${env:PORT}/x",
        "http://[${env:HOST}]:8081",
    ],
)
def test_addresses_of_every_sound_form_pass(url: str) -> None:
    assert registry_complaint("url", with_stand_ins(url)) is None
