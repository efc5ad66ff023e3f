"""Keys and paths of HDFS: what cannot be in a path is written in another way, and read back."""

import pytest

from penstock.errors import BadKey
from penstock.ports.store.hdfs.hdfs_names import Names, decode_name, encode_name
from penstock.testing.contracts.store_names import ODD_NAMES

NAMES = Names("/lakes/shop")


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("a/day=2026-11-15/b.parquet", "/lakes/shop/a/day=2026-11-15/b.parquet"),
        ("at=10:30", "/lakes/shop/at=10\u2426003a30"),
        ("new\nline", "/lakes/shop/new\u2426000aline"),
        (".snapshot/.reserved", "/lakes/shop/\u2426002esnapshot/\u2426002ereserved"),
        (".snapshots", "/lakes/shop/.snapshots"),
        ("\u2426", "/lakes/shop/\u24262426"),
        ("%3A", "/lakes/shop/%3A"),
    ],
)
def test_a_key_becomes_a_path(key: str, path: str) -> None:
    assert NAMES.path(key) == path


@pytest.mark.parametrize("name", [*ODD_NAMES, "\u2426003a", "a:\u2426:", ".snapshot", ".reserved"])
def test_every_name_comes_back_and_two_never_meet(name: str) -> None:
    encoded = encode_name(name)
    assert decode_name(encoded) == name
    assert ":" not in encoded
    assert encoded not in (".snapshot", ".reserved")


@pytest.mark.parametrize("name", ["\u2426003A", "a:b", "\u2426", ".snapshot", "\u24260061", "a\nb"])
def test_a_name_that_the_lake_would_write_otherwise_is_nobodys(name: str) -> None:
    assert decode_name(name) is None


@pytest.mark.parametrize("key", ["_penstock/tmp", "_penstock/tmp/x", ":" * 100, "a/" * 1_001 + "b"])
def test_what_hdfs_cannot_hold_is_refused(key: str) -> None:
    with pytest.raises(BadKey):
        NAMES.path(key)
    assert NAMES.path("_penstock/tmps") == "/lakes/shop/_penstock/tmps"


def test_a_lake_may_be_the_whole_file_system() -> None:
    top = Names("")
    assert (top.path("a"), top.directory(""), top.parents) == ("/a", "/", [])
    assert NAMES.directory("") == "/lakes/shop"
    assert NAMES.parents == ["/lakes", ""]
