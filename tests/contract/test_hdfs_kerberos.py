"""A store on a secured HDFS: whoever comes logs in by Kerberos, with a real key server."""

import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from penstock.errors import StoreUnavailable
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.hdfs.hdfs_store import HdfsStore
from penstock.testing.contracts.store import StoreContract
from penstock.testing.contracts.store_staged import FINAL, stage
from penstock.testing.hdfs_server import EmbeddedHdfs
from penstock.testing.kerberos_realm import REALM, KerberosRealm
from penstock.testing.secured_hdfs import give_directory
from tests.helpers.cut_wire import CutWire
from tests.helpers.hdfs_servers import running_secured_hdfs
from tests.helpers.kerberos import new_realm

pytestmark = pytest.mark.xdist_group("hdfs-kerberos")

USER = "penstock"
BRIEF = "brief"  # a user whose tickets expire at once, as tests count
LIFE_S = 4
PATIENCE_S = 60.0
LAKES = "lakes"
AT_ONCE = BackOff(tries=1, first_pause_s=0.1, longest_pause_s=0.1, within_s=1.0)


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KerberosRealm]:
    """A realm whose environment this process has, too, as long as the module lasts."""
    with (
        new_realm(tmp_path_factory.mktemp("realm")) as realm,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in realm.environment.items():
            patch.setenv(name, value)
        patch.setenv("KRB5CCNAME", f"FILE:{realm.config.parent / 'nobody-has-logged-in'}")
        realm.add(USER)
        yield realm


@pytest.fixture(scope="module")
def secured(
    realm: KerberosRealm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedHdfs]:
    with running_secured_hdfs(tmp_path_factory.mktemp("hdfs"), realm) as hdfs:
        give_directory(hdfs, realm, LAKES, USER, 0o755)
        yield hdfs


@pytest.fixture
def root() -> str:
    return f"{LAKES}/{secrets.token_hex(8)}"


@pytest.fixture
def store(secured: EmbeddedHdfs, realm: KerberosRealm, root: str) -> HdfsStore:
    return HdfsStore(secured.spec(root, keytab=str(realm.keytab_of(USER))))


@pytest.fixture
def second_store(secured: EmbeddedHdfs, realm: KerberosRealm, root: str) -> HdfsStore:
    keytab = str(realm.keytab_of(USER))
    return HdfsStore(secured.spec(root, keytab=keytab, principal=USER, data_protection="integrity"))


@pytest.mark.certify
class TestHdfsStoreWithKerberos(StoreContract):
    """Two clients with tickets of their own, on an HDFS that checks who they are."""


def test_a_keytab_is_all_that_a_store_needs(store: HdfsStore, second_store: HdfsStore) -> None:
    """One client creates and publishes, and the other, which is told more, reads."""
    assert store.create("journal/1", b"entry")
    assert not second_store.create("journal/1", b"another")
    assert second_store.read("journal/1") == b"entry"
    handle = stage(store, FINAL, b"rows")
    second_store.publish(handle)
    assert store.read(FINAL) == b"rows"


def through(wire: CutWire, spec: StoreSpec) -> StoreSpec:
    """The same place, by another port."""
    _, _, path = spec.address.partition("/")
    return msgspec.structs.replace(spec, address=f"localhost:{wire.port}/{path}")


def refusal(spec: StoreSpec) -> str:
    """What a store says that nobody can log in to. Opening it asks nobody."""
    with pytest.raises(StoreUnavailable) as told:
        HdfsStore(spec, AT_ONCE).read("a")
    assert "\n" not in told.value.why
    return told.value.why


def refusal_in_the_end(store: HdfsStore, wire: CutWire) -> str:
    """What a store says that worked until its ticket expired; a new connection asks for one."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        wire.cut()
        try:
            assert store.read("a") == b"1"
        except StoreUnavailable as error:
            return error.why
    raise AssertionError(f"a ticket of {LIFE_S} s was good for {PATIENCE_S} s")


def test_a_ticket_that_expires_in_mid_run_is_told_and_its_renewal_is_enough(
    secured: EmbeddedHdfs,
    realm: KerberosRealm,
    root: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goal: only what nobody renews ends. Method: cut connections until the ticket has expired.

    One store has a keytab, and the other a ticket that somebody else got, as by cron.
    """
    keytab = str(realm.add(BRIEF, ticket_life_s=LIFE_S))
    give_directory(secured, realm, root, BRIEF)
    ticket = tmp_path / "ticket"
    realm.log_in(BRIEF, ticket)
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{ticket}")
    with CutWire(secured.port) as wire:
        words = {"principal": BRIEF, "data_protection": "integrity"}
        ticketed = HdfsStore(through(wire, secured.spec(root, **words)))
        renewing = HdfsStore(through(wire, secured.spec(root, keytab=keytab)))
        assert ticketed.create("a", b"1")
        assert renewing.read("a") == b"1"
        why = refusal_in_the_end(ticketed, wire)
        assert "the Kerberos ticket has expired; renew it (kinit)" in why
        assert renewing.create("b", b"2")
        realm.log_in(BRIEF, ticket)
        assert ticketed.read("b") == b"2"
        assert ticketed.create("c", b"3")


def test_while_no_key_server_answers_only_new_tickets_are_missing(
    secured: EmbeddedHdfs, realm: KerberosRealm, root: str
) -> None:
    spec = secured.spec(root, keytab=str(realm.keytab_of(USER)))
    with CutWire(secured.port) as wire:
        earlier = HdfsStore(through(wire, spec))
        assert earlier.create("a", b"1")
        realm.kill()
        try:
            why = refusal(spec)
            wire.cut()
            assert earlier.read("a") == b"1"
        finally:
            realm.start()
    assert "no key server of the Kerberos realm can be reached" in why
    assert HdfsStore(spec).read("a") == b"1"


def test_a_keytab_of_before_a_change_of_keys_is_told_and_a_new_export_is_enough(
    secured: EmbeddedHdfs, realm: KerberosRealm, root: str
) -> None:
    keytab = realm.add("changed")
    realm.change_key("changed")
    store = HdfsStore(secured.spec(root, keytab=str(keytab)), AT_ONCE)
    with pytest.raises(StoreUnavailable) as told:
        store.read("a")
    assert "not those of the realm any more; export the keytab again" in told.value.why
    realm.export("changed", keytab)
    assert store.read("a") is None


def test_a_principal_that_the_realm_does_not_have_is_told(
    secured: EmbeddedHdfs, realm: KerberosRealm, root: str
) -> None:
    keytab = realm.add("gone")
    realm.remove("gone")
    why = refusal(secured.spec(root, keytab=str(keytab)))
    assert "the Kerberos realm has no such principal" in why
    assert f"gone@{REALM}" in why


def test_a_keytab_without_the_wanted_principal_is_told(
    secured: EmbeddedHdfs, realm: KerberosRealm, root: str
) -> None:
    keytab = str(realm.keytab_of(USER))
    why = refusal(secured.spec(root, keytab=keytab, principal="audit"))
    assert why.startswith(f"the keytab {keytab!r} has no keys of 'audit', but of {USER}@{REALM}")


def test_a_keytab_that_this_host_does_not_have_is_told(
    secured: EmbeddedHdfs, root: str, tmp_path: Path
) -> None:
    why = refusal(secured.spec(root, keytab=str(tmp_path / "none")))
    assert "cannot be read on this host" in why
    assert "every host of the job needs it" in why


def test_nobody_who_has_not_logged_in_gets_in(secured: EmbeddedHdfs, root: str) -> None:
    why = refusal(secured.spec(root, principal=USER))
    assert "there is no Kerberos ticket; log in (kinit), or name a `keytab`" in why


def test_whoever_logs_in_has_only_the_rights_of_their_name(
    secured: EmbeddedHdfs, realm: KerberosRealm, root: str
) -> None:
    give_directory(secured, realm, root, USER)
    why = refusal(secured.spec(root, keytab=str(realm.add("stranger"))))
    assert "user=stranger" in why
    assert "give this user rights on the lake's directory" in why
