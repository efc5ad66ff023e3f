"""The double of GCS and fake-gcs-server agree where that is right; the probe refuses the latter.

`pytest -n0 -m certify tests/certify/test_fake_gcs.py`; not part of the everyday tests, because Go
takes minutes to build it. It is right about uploads with conditions and about resumable sessions.
Conditions of rewrites and deletions it ignores.
"""

import secrets
from collections.abc import Iterator

import pytest

from penstock.errors import StoreUnfit
from penstock.ports.store.gcs.gcs_store import GcsStore
from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from tests.helpers.fake_gcs import running_fake_gcs
from tests.helpers.gcs_asking import GcsAsking

pytestmark = [pytest.mark.certify, pytest.mark.timeout(3600)]

UNIT = 256 * 1024
BUCKET = "lakes"


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_fake_gcs(tmp_path_factory.mktemp("fake"), BUCKET) as address:
        yield address


@pytest.fixture(params=["double", "fake-gcs-server"])
def ask(request: pytest.FixtureRequest, fake: str, gcs: EmbeddedGcs) -> GcsAsking:
    """Plain requests to either of them."""
    if request.param == "double":
        bucket = f"b{secrets.token_hex(8)}"
        gcs.make_bucket(bucket)
        return GcsAsking(gcs.endpoint, bucket)
    return GcsAsking(fake, BUCKET)


@pytest.fixture
def name() -> str:
    return secrets.token_hex(8)


def test_both_create_once(ask: GcsAsking, name: str) -> None:
    assert ask.insert(name, b"one", ifGenerationMatch=0).status_code == 200
    assert ask.insert(name, b"two", ifGenerationMatch=0).status_code == 412
    assert ask.read(name).content == b"one"


def test_both_replace_a_generation(ask: GcsAsking, name: str) -> None:
    first = ask.made(name)
    second = ask.made(name, b"two", ifGenerationMatch=first)
    assert second != first
    assert ask.insert(name, b"three", ifGenerationMatch=first).status_code == 412


def test_both_let_one_of_two_sessions_end(ask: GcsAsking, name: str) -> None:
    first, second = (ask.session_of(name, ifGenerationMatch=0) for _ in range(2))
    assert ask.send(first, "bytes 0-2/3", b"one").status_code == 200
    assert ask.send(second, "bytes 0-2/3", b"two").status_code == 412
    assert ask.read(name).content == b"one"


def test_both_say_how_much_of_an_upload_they_have(ask: GcsAsking, name: str) -> None:
    address = ask.session_of(name)
    first = ask.send(address, f"bytes 0-{UNIT - 1}/{UNIT + 5}", bytes(UNIT))
    assert (first.status_code, first.headers["Range"]) == (308, f"bytes=0-{UNIT - 1}")
    last = ask.send(address, f"bytes {UNIT}-{UNIT + 4}/{UNIT + 5}", bytes(5))
    assert (last.status_code, last.json()["size"]) == (200, str(UNIT + 5))


def test_both_list_in_order_and_delete(ask: GcsAsking, name: str) -> None:
    for key in ("b", "a/c", "a"):
        ask.made(f"{name}/{key}")
    assert ask.names(prefix=f"{name}/") == [f"{name}/{key}" for key in ("a", "a/c", "b")]
    assert ask.names(prefix=f"{name}/", startOffset=f"{name}/a/c") == [f"{name}/a/c", f"{name}/b"]
    assert ask.delete(f"{name}/b").status_code in (200, 204)
    assert ask.get(f"{name}/b").status_code == 404


def test_the_probe_refuses_a_place_that_ignores_conditions_on_rewrites(
    gcs: EmbeddedGcs, fake: str
) -> None:
    spec = gcs.spec(f"{BUCKET}/{secrets.token_hex(8)}", endpoint=fake)
    with pytest.raises(StoreUnfit) as told:
        GcsStore(spec).probe("probe")
    assert "rewrite an object only when nothing is at its new name" in str(told.value)
    assert spec.uri in str(told.value)
