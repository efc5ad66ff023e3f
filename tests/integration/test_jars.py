"""Jars are fetched by the real Ivy, in a JVM.

Its settings file points to a directory or to a dead port: nothing here leaves the machine.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock.spark.errors import JarChanged, JarsUnreachable
from penstock.spark.ivy import Progress
from penstock.spark.jars import jar_paths
from tests.helpers.jar_repository import (
    FILES,
    fetch_from,
    filled,
    ivy_settings,
    lock_of,
    repository,
)


def test_only_what_is_missing_or_damaged_is_fetched(tmp_path: Path) -> None:
    cache = filled(tmp_path / "cache")
    (cache / "org.example/one-1.0.jar").write_bytes(b"damaged")
    (cache / "org.example/two-1.0-linux.jar").unlink()
    seen: list[Progress] = []

    brought = fetch_from(repository(tmp_path, FILES), cache, seen.append)

    assert [str(jar.coordinates) for jar in brought] == [
        "org.example:one:1.0",
        "org.example:two:1.0:linux",
    ]
    assert [path.read_bytes() for path in jar_paths("example", cache, lock_of(FILES))] == list(
        FILES.values()
    )
    assert [step.done for step in seen if step.phase == "fetched"] == [1, 2]
    assert sorted(child.name for child in cache.iterdir()) == ["org.example"]


def test_a_repository_that_serves_another_file_is_not_trusted(tmp_path: Path) -> None:
    first, *_ = FILES
    settings = repository(tmp_path, FILES | {first: b"served instead"})
    with pytest.raises(JarChanged, match="just fetched"):
        fetch_from(settings, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_repository_that_cannot_be_reached_is_named_with_the_way_out(tmp_path: Path) -> None:
    settings = tmp_path / "settings.xml"
    resolver = '<ibiblio name="dead" m2compatible="true" root="http://me:secret@127.0.0.1:9/"/>'
    settings.write_text(ivy_settings("dead", resolver))
    with pytest.raises(JarsUnreachable, match=r"Connection refused.*--settings") as caught:
        fetch_from(settings, tmp_path / "cache")
    assert caught.value.exit_code == 2
    assert "secret" not in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_settings_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(JarsUnreachable, match=r"absent\.xml"):
        fetch_from(tmp_path / "absent.xml", tmp_path / "cache")


def test_several_may_fetch_at_once_into_one_cache(tmp_path: Path) -> None:
    settings, cache = repository(tmp_path, FILES), tmp_path / "cache"
    with ThreadPoolExecutor(3) as pool:
        for running in [pool.submit(fetch_from, settings, cache) for _ in range(3)]:
            running.result()
    assert len(jar_paths("example", cache, lock_of(FILES))) == len(FILES)
    assert sorted(child.name for child in cache.iterdir()) == ["org.example"]
