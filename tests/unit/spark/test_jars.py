"""The pinned jars: read, verified, fetched once, and never used when they differ.

`tests/integration/test_jars.py` fetches some with the real Ivy.
"""

import errno
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from penstock.cli.main import main as penstock_main
from penstock.config import places
from penstock.spark.errors import (
    JarChanged,
    JarsMissing,
    JarsUnreachable,
    JavaMissing,
    JavaWrong,
)
from penstock.spark.ivy import Coordinates, Ivy, Progress
from penstock.spark.jars import (
    PinnedJar,
    Teller,
    _bring,
    fetch,
    jar_paths,
    main,
    parse_lock,
    read_lock,
)
from penstock.spark.java import find_java, parse_version
from tests.helpers.jar_repository import FILES, filled, lock_of

NO_JAVA = Path("/nonexistent")


def test_the_lock_of_the_package_names_five_groups_and_no_jar_twice() -> None:
    lock = read_lock()
    assert set(lock) == {"connector", "broker", "registry", "storage", "hdfs", "avro"}
    assert len(lock["connector"]) == 4
    assert [jar.coordinates.ext for jar in lock["registry"]] == ["tar.gz"]
    for jars in lock.values():
        places_of_jars = [jar.coordinates.file for jar in jars]
        assert len(places_of_jars) == len(set(places_of_jars))


@pytest.mark.parametrize("is_there", [False, True])
def test_a_cache_that_cannot_be_written_is_told_with_its_path(
    is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    cache = tmp_path / "jars"
    if is_there:  # a shared cache of another user; root may write everywhere, hence the patch
        cache.mkdir()
        monkeypatch.setattr("tempfile.TemporaryDirectory", denied)
    else:
        cache.write_text("a file where the directory should be")
    jars = read_lock()["connector"]
    with pytest.raises(JarsUnreachable, match=r"cannot be written: .*XDG_CACHE_HOME") as caught:
        _bring(jars, cache, Ivy(NO_JAVA, (), None), lambda _: None)
    assert str(cache) in str(caught.value)
    assert "network" not in str(caught.value)


def test_a_line_of_the_lock_becomes_coordinates_and_a_checksum() -> None:
    text = f"# why\n\n[broker]\norg.example:thing_2.13:1.0-rc1:linux {'a' * 64}\n"
    [jar] = parse_lock(text)["broker"]
    assert jar == PinnedJar(Coordinates("org.example", "thing_2.13", "1.0-rc1", "linux"), "a" * 64)
    assert str(jar.coordinates) == "org.example:thing_2.13:1.0-rc1:linux"
    assert jar.path(Path("c")) == Path("c/org.example/thing_2.13-1.0-rc1-linux.jar")


def test_a_line_may_name_an_archive_instead_of_a_jar() -> None:
    lines = [f"org.example:thing:1.0:all@tar.gz {'a' * 64}", f"org.example:other:2@zip {'b' * 64}"]
    text = "\n".join(["[registry]", *lines])
    first, second = (jar.coordinates for jar in parse_lock(text)["registry"])
    assert first == Coordinates("org.example", "thing", "1.0", "all", "tar.gz")
    assert first.file == Path("org.example/thing-1.0-all.tar.gz")
    assert second.file == Path("org.example/other-2.zip")
    assert [str(first), str(second)] == [
        "org.example:thing:1.0:all@tar.gz",
        "org.example:other:2@zip",
    ]


def test_at_jar_is_what_is_meant_without_it() -> None:
    text = f"[broker]\norg.example:one:1.0@jar {'a' * 64}\norg.example:one:1.0 {'a' * 64}\n"
    first, second = parse_lock(text)["broker"]
    assert first == second
    assert str(first.coordinates) == "org.example:one:1.0"


@pytest.mark.parametrize(
    "line",
    [
        f"org.example:one {'a' * 64}",
        f"org.example:one:1.0 {'A' * 64}",
        "org.example:one:1.0",
        f"org.example:../one:1.0/x {'a' * 64}",
        f'org.example:one:"1.0" {"a" * 64}',
        f"org.example:one:1.0@ {'a' * 64}",
        f"org.example:one:1.0@../tar {'a' * 64}",
        f"org.example:one:1.0@.gz {'a' * 64}",
        f"org.example:one:1.0@tar.gz:all {'a' * 64}",
    ],
)
def test_a_line_that_is_no_pinned_jar_is_refused_with_its_number(line: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        parse_lock(f"[broker]\n{line}\n")


def test_a_jar_before_the_first_group_is_refused() -> None:
    with pytest.raises(ValueError, match="line 1"):
        parse_lock(f"org.example:one:1.0 {'a' * 64}\n")


def test_missing_jars_are_named_with_the_command_that_brings_them(tmp_path: Path) -> None:
    with pytest.raises(JarsMissing, match=r"org\.example:one:1\.0.*jars fetch"):
        jar_paths("example", tmp_path, lock_of(FILES))


def test_a_jar_that_changed_in_the_cache_is_never_handed_out(tmp_path: Path) -> None:
    cache = filled(tmp_path / "cache")
    (cache / "org.example/one-1.0.jar").write_bytes(b"something else")
    with pytest.raises(JarChanged, match=r"org\.example:one:1\.0") as caught:
        jar_paths("example", cache, lock_of(FILES))
    assert caught.value.exit_code == 2


def test_jars_in_the_cache_need_neither_java_nor_ivy(tmp_path: Path) -> None:
    cache = filled(tmp_path / "cache")
    assert fetch(["example"], cache, java_home=NO_JAVA, lock=lock_of(FILES)) == []
    assert len(jar_paths("example", cache, lock_of(FILES))) == len(FILES)


def test_without_java_the_sentence_names_the_package_to_install(tmp_path: Path) -> None:
    with pytest.raises(JavaMissing, match="openjdk-17-jre-headless"):
        fetch(["example"], tmp_path, java_home=NO_JAVA, lock=lock_of(FILES))


def test_the_command_lists_every_jar_with_its_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "--group", "connector", "--cache", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("connector\tabsent\t") for line in lines)


def test_penstock_jars_is_the_same_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["list", "--group", "connector", "--cache", str(tmp_path)]
    assert main(words) == penstock_main(["jars", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == lines[4:]
    assert penstock_main(["jars", *words, "--output", "json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ["\t".join(row.values()) for row in rows] == lines[:4]
    assert list(rows[0]) == ["group", "state", "jar", "sha256"]


def test_penstock_jars_fetch_says_what_is_wrong_and_returns_its_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(NO_JAVA))
    assert penstock_main(["jars", "fetch", "--cache", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "JAVA_MISSING" in told.err


def test_a_fetch_that_names_no_group_leaves_out_what_only_tests_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def note(groups: Iterable[str], *_place: Path | None, **_how: object) -> list[PinnedJar]:
        asked.extend(groups)
        return []

    monkeypatch.setattr("penstock.spark.jars.fetch", note)
    assert main(["fetch", "--cache", str(tmp_path)]) == 0
    assert asked == ["broker", "connector"]
    assert main(["fetch", "--cache", str(tmp_path), "--group", "registry"]) == 0
    assert asked[2:] == ["registry"]


def test_help_shows_an_example() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "penstock.spark.jars", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "jars fetch --group connector" in ran.stdout


def test_progress_is_plain_lines_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    teller = Teller(sys.stdout)
    for done in range(1, 13):
        teller(Progress("fetched", done, 12, "x"))
    teller.close()
    assert capsys.readouterr().out == "jars fetched: 10 of 12\njars fetched: 12 of 12\n"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx=1\nopenjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_402"', 8),
        ("command not found", None),
    ],
)
def test_the_version_of_java_is_read_from_what_it_prints(text: str, version: int | None) -> None:
    assert parse_version(text) == version


def test_a_java_of_another_version_is_refused_by_its_number(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    with pytest.raises(JavaWrong, match=r"is Java 11\..*openjdk-17-jre-headless"):
        find_java(tmp_path)


def test_no_java_on_the_path_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(JavaMissing) as caught:
        find_java(None, search=str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "cache"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/penstock/jars"),
        ({"HOME": "/h"}, "/h/.cache/penstock/jars"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/penstock/jars"),
    ],
)
def test_the_cache_lies_where_the_desktop_standard_says(
    environment: dict[str, str], cache: str
) -> None:
    assert places.jar_cache(environment) == Path(cache)


def test_an_empty_java_home_counts_as_none() -> None:
    assert places.java_home({"JAVA_HOME": " "}) is None
    assert places.java_home({"JAVA_HOME": "/j"}) == Path("/j")


def test_java_is_told_about_the_proxies_of_the_environment() -> None:
    environment = {"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "localhost,.corp"}
    assert places.java_network_options(environment) == (
        "-Dhttps.proxyHost=proxy",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|*.corp",
    )
    assert places.java_network_options({"no_proxy": "localhost"}) == ()
