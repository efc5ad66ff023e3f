"""A store is opened by its spec, here and where it has travelled to."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.api.errors import PluginAmbiguous, PluginBroken, StoreSettingUnknown
from penstock.config.clients import reveal_store
from penstock.config.errors import ConfigInvalid
from penstock.config.load import load
from penstock.model.plugin import PluginRef
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.local.local_store import LocalStore
from penstock.ports.store.open_store import local_spec, open_store, reopen_store
from penstock.spark.package import package_zip
from tests.helpers.installed_packages import install_package

CANARY = "canary-7f3a"
CONFIG = """
version: 1
lake: {lake}
store: {store}
kafka: {{bootstrap.servers: "localhost:9092"}}
feeds: {{events: {{topics: [events]}}}}
"""


def config(folder: Path, lake: str = "./lake", store: str = "{}") -> Path:
    path = folder / "penstock.yaml"
    path.write_text(CONFIG.format(lake=lake, store=store))
    return path


def complaint(folder: Path, lake: str, store: str = "{}") -> str:
    with pytest.raises(ConfigInvalid) as caught:
        load(config(folder, lake, store), {})
    return str(caught.value.mistakes[0])


def test_the_lake_of_a_configuration_is_opened_through_its_spec(tmp_path: Path) -> None:
    spec = load(config(tmp_path), {}).lake
    assert (spec.scheme, spec.address) == ("file", str(tmp_path / "lake"))
    assert spec == local_spec(tmp_path / "lake")
    store = open_store(spec)
    store.create("a", b"a")
    assert (tmp_path / "lake" / "a").read_bytes() == b"a"


def test_a_store_travels_as_its_spec_and_is_opened_once_per_process(tmp_path: Path) -> None:
    sent = pickle.dumps(LocalStore(tmp_path))
    first, second = pickle.loads(sent), pickle.loads(sent)
    assert first is second
    assert first.root == str(tmp_path)
    assert open_store(local_spec(tmp_path)) is not open_store(local_spec(tmp_path))


def _number_of_store(spec: StoreSpec) -> tuple[int, int]:
    return os.getpid(), id(reopen_store(spec))


def test_a_forked_process_opens_it_again(tmp_path: Path) -> None:
    """Goal: no connection is shared by two processes. Method: ask a fork which store it has."""
    spec = local_spec(tmp_path)
    mine = reopen_store(spec)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        process, theirs = pool.apply(_number_of_store, (spec,))
    assert process != os.getpid()
    assert theirs != id(mine)


def test_a_store_that_has_travelled_needs_no_metadata(tmp_path: Path) -> None:
    """Goal: executors get a zip and nothing else. Method: open it in a process with only that."""
    LocalStore(tmp_path / "lake").create("a", b"from the driver")
    (tmp_path / "sent").write_bytes(pickle.dumps(LocalStore(tmp_path / "lake")))
    code = (
        "import importlib.metadata as m, pickle, sys; "
        f"sys.path[:] = [{str(package_zip(tmp_path))!r}, *sys.path]; "
        "m.entry_points = m.distributions = None; "
        f"print(pickle.load(open({str(tmp_path / 'sent')!r}, 'rb')).read('a'))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert ran.stdout.strip() == "b'from the driver'"


def test_secrets_of_a_store_are_references_until_it_is_opened_and_are_never_printed(
    tmp_path: Path,
) -> None:
    path = config(tmp_path, store='{secret_key: "${env:LAKE_KEY}", endpoint: "http://x:1"}')
    spec = load(path, {}).lake
    assert spec.settings["secret_key"] == "${env:LAKE_KEY}"
    revealed = reveal_store(spec, {"LAKE_KEY": CANARY})
    assert revealed.settings["secret_key"] == CANARY
    assert CANARY not in f"{revealed} {revealed!r}"
    assert pickle.loads(pickle.dumps(revealed)) == revealed
    with pytest.raises(ConfigInvalid, match="LAKE_KEY is not set"):
        reveal_store(spec, {})
    assert "a secret in plain text" in complaint(tmp_path, "./lake", "{secret_key: x}")
    assert "a secret in it" in complaint(tmp_path, f"s3://user:{CANARY}@bucket")
    assert CANARY not in complaint(tmp_path, f"s3://user:{CANARY}@bucket")


def test_a_directory_takes_no_settings(tmp_path: Path) -> None:
    spec = load(config(tmp_path, store="{region: x}"), {}).lake
    with pytest.raises(StoreSettingUnknown, match="no setting 'region'; it has none"):
        open_store(spec)


@pytest.mark.parametrize("rest", ["", "/", "bucket?x=1", "bucket#x"])
def test_an_address_is_more_than_a_scheme_and_has_no_question(tmp_path: Path, rest: str) -> None:
    assert "address" in complaint(tmp_path, f"s3://{rest}")


def test_the_scheme_of_a_plug_in_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = """
from penstock.testing.memory_store import MemoryStore

def open_attic(spec):
    return MemoryStore() if spec.address == "box/7" else object()
"""
    packages = tmp_path / "packages"
    packages.mkdir()
    monkeypatch.syspath_prepend(str(packages))
    entries = {"penstock.stores": {"attic": "an_attic:open_attic"}}
    install_package(packages, "an-attic", entries, {"an_attic": module})
    spec = load(config(tmp_path, "attic://box/7/"), {}).lake
    assert (spec.uri, spec.opener.package) == ("attic://box/7", "an-attic")
    assert open_store(spec).create("a", b"a")
    with pytest.raises(PluginBroken, match="it has no `create` and no"):
        open_store(load(config(tmp_path, "attic://box/8"), {}).lake)
    wrong = complaint(tmp_path, "atttic://box")
    assert "a lake on atttic:// is unknown" in wrong
    assert "file:///directory, or attic://..." in wrong
    assert "did you mean 'attic'?" in wrong
    install_package(packages, "second", {"penstock.stores": {"attic": "os:sep"}}, {})
    with pytest.raises(PluginAmbiguous, match=r"a store called 'attic', an-attic 1.0 and second"):
        load(config(tmp_path, "attic://box"), {})


def test_a_spec_names_what_opens_it(tmp_path: Path) -> None:
    gone = PluginRef("store", "file", "penstock.ports.store.gone:open", "penstock", "0")
    with pytest.raises(PluginBroken, match=r"No module named 'penstock\.ports\.store\.gone'"):
        open_store(StoreSpec("file", str(tmp_path), gone))
