"""`decode` with a Thrift file: what it includes is read with it, and each mistake is told."""

from pathlib import Path

import pytest

from penstock.model.row_settings import row_settings
from penstock.model.spec import DecodeSpec
from tests.helpers.feed_sections import feed_of, mistake_of

CLICK = 'include "common/shared.thrift"\nstruct Click { 1: shared.Geo geo }\n'
SHARED = 'include "zone.thrift" struct Geo { 1: zone.Zone zone }'
ZONE = "struct Zone { 1: string name }"
KEYS = "decode: {format: thrift, schema: idl/click.thrift}"


@pytest.fixture
def idl(tmp_path: Path) -> Path:
    (tmp_path / "idl" / "common").mkdir(parents=True)
    (tmp_path / "idl" / "click.thrift").write_text(CLICK)
    (tmp_path / "idl" / "common" / "shared.thrift").write_text(SHARED)
    (tmp_path / "idl" / "zone.thrift").write_text(ZONE)
    return tmp_path / "idl"


@pytest.mark.usefixtures("idl")
def test_a_file_brings_all_that_it_includes(tmp_path: Path) -> None:
    includes = (("common/shared.thrift", SHARED), ("zone.thrift", ZONE))
    wanted = DecodeSpec("thrift", schema_text=CLICK, schema_includes=includes, protocol="binary")
    feed = feed_of(tmp_path, KEYS)
    assert feed.decode == wanted
    assert row_settings(feed)["decode"] == {
        "format": "thrift",
        "ids": False,
        "spread": False,
        "schema_text": CLICK,
        "schema_includes": dict(includes),
        "protocol": "binary",
    }


def test_a_file_may_include_one_of_a_folder_beside_its_own(tmp_path: Path, idl: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "geo.thrift").write_text("struct Geo { 1: i32 a }")
    text = 'include "../other/geo.thrift" struct Click { 1: geo.Geo geo }'
    (idl / "click.thrift").write_text(text)
    includes = feed_of(tmp_path, KEYS).decode.schema_includes
    assert [path for path, _ in includes] == ["../other/geo.thrift"]


@pytest.mark.parametrize(
    ("keys", "path", "found"),
    [
        ("decode: {format: thrift}", "decode", "no `schema`: Thrift records do not say"),
        ("decode: {format: thrift, schema: a.thrift}", "decode.schema", "there is no file"),
        ("decode: {format: thrift, schema: penstock.yaml}", "decode.schema", "'penstock.yaml'"),
        (f"{KEYS[:-1]}, message: Order}}", "decode", "there is no struct Order; there are: Click"),
        (f"{KEYS[:-1]}, protocol: json}}", "decode.protocol", "found 'json'"),
        ("decode: {format: avro, protocol: compact}", "decode.protocol", "`protocol` for avro"),
        (f"{KEYS[:-1]}, ids: true}}", "decode.ids", "`ids` for thrift"),
    ],
)
@pytest.mark.usefixtures("idl")
def test_a_mistake_is_told_once(tmp_path: Path, keys: str, path: str, found: str) -> None:
    mistake = mistake_of(tmp_path, keys)
    assert mistake.path == f"feeds.events.{path}"
    assert found in mistake.found


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("common/shared.thrift", None, "line 1: includes `common/shared.thrift`, and there is no"),
        ("common/shared.thrift", b"\xff", "'common/shared.thrift' cannot be read as UTF-8"),
        ("common/shared.thrift", b"struct Geo {", "common/shared.thrift, line 1: found the end"),
        ("common/shared.thrift", b" " * 1_000_001, "the file is too large"),
        ("click.thrift", b"struct Click {", "line 1: found the end of the file"),
        ("click.thrift", b"include 'a\0b.thrift'", "and there is no such file"),
        ("click.thrift", b"include '%s'" % (b"a" * 9_999), "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_mistake(
    tmp_path: Path, idl: Path, name: str, text: bytes | None, found: str
) -> None:
    (idl / name).unlink()
    if text is not None:
        (idl / name).write_bytes(text)
    mistake = mistake_of(tmp_path, KEYS)
    assert mistake.path == "feeds.events.decode.schema"
    assert found in mistake.found


def test_a_struct_that_cannot_become_columns_is_a_mistake(tmp_path: Path, idl: Path) -> None:
    (idl / "click.thrift").write_text("struct Click { 1: Click parent }")
    mistake = mistake_of(tmp_path, KEYS)
    assert mistake.path == "feeds.events.decode"
    assert mistake.found == "`schema`: at $.parent, Click contains itself"
