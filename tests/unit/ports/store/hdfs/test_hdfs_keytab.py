"""Whom a keytab is for, and what is said of one that will not do."""

import struct
from pathlib import Path

import pytest

from penstock.ports.store.hdfs.hdfs_keytab import KeytabUnusable, principal_of

REALM = "SHOP.EXAMPLE"
HOLE = struct.pack(">i", -9) + b"\0" * 9
TAIL = b"\0\0\0\1" + b"\0\0\0\0" + b"\1" + b"\0\x12" + b"\0\x02kk"  # type, time, version, key


def text(word: str) -> bytes:
    return struct.pack(">H", len(word.encode())) + word.encode()


def entry(*names: str, realm: str = REALM) -> bytes:
    body = struct.pack(">H", len(names)) + text(realm) + b"".join(map(text, names)) + TAIL
    return struct.pack(">i", len(body)) + body


def keytab(place: Path, *entries: bytes) -> str:
    path = place / "test.keytab"
    path.write_bytes(b"\x05\x02" + b"".join(entries))
    return str(path)


def test_the_only_principal_of_a_keytab_is_the_one_to_log_in_as(tmp_path: Path) -> None:
    """It has one key for each kind of encryption, and holes of keys that were removed."""
    path = keytab(tmp_path, entry("penstock"), HOLE, entry("penstock"))
    assert principal_of(path, "") == f"penstock@{REALM}"


@pytest.mark.parametrize("wanted", ["etl/host.example", f"etl/host.example@{REALM}"])
def test_a_principal_may_be_named_with_and_without_its_realm(tmp_path: Path, wanted: str) -> None:
    path = keytab(tmp_path, entry("penstock"), entry("etl", "host.example"))
    assert principal_of(path, wanted) == wanted


def test_a_keytab_of_several_principals_asks_for_one(tmp_path: Path) -> None:
    path = keytab(tmp_path, entry("penstock"), entry("audit"))
    with pytest.raises(KeytabUnusable, match=f"audit@{REALM}, penstock@{REALM}; choose one by"):
        principal_of(path, "")


def test_a_principal_without_keys_in_the_keytab_is_named_beside_those_that_have(
    tmp_path: Path,
) -> None:
    path = keytab(tmp_path, *(entry(f"user-{number}") for number in range(7)))
    with pytest.raises(KeytabUnusable, match=r"no keys of 'penstock', but of user-0@.*, \.\.\.;"):
        principal_of(path, "penstock")


def test_a_slash_inside_a_name_is_not_taken_for_a_host(tmp_path: Path) -> None:
    path = keytab(tmp_path, entry("a/b"))
    assert principal_of(path, "") == f"a\\/b@{REALM}"


def test_a_missing_keytab_is_looked_for_on_this_host(tmp_path: Path) -> None:
    with pytest.raises(KeytabUnusable, match=r"cannot be read on this host \(No such file"):
        principal_of(str(tmp_path / "none"), "")


@pytest.mark.parametrize("content", [b"", b"password", b"\x05\x01\0\0"])
def test_a_file_of_another_kind_is_not_a_keytab(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(KeytabUnusable, match="is not a keytab"):
        principal_of(str(tmp_path / "file"), "")


def test_a_keytab_that_was_cut_short_is_of_no_use(tmp_path: Path) -> None:
    whole = Path(keytab(tmp_path, entry("penstock"))).read_bytes()
    for size in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:size])
        with pytest.raises(KeytabUnusable, match=r"is not a keytab|no keys|is damaged"):
            principal_of(str(tmp_path / "cut"), "")
