"""Where compiled code is kept: one process compiles at a time; others wait, but not for ever."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.datapath.codec.shared import code_cache
from penstock.datapath.codec.shared.code_cache import (
    code_place,
    compiling_alone,
    is_complete,
    mark_complete,
    old_code,
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own."""
    monkeypatch.setattr(code_cache, "cache_directory", lambda: tmp_path / "cache")
    code_place.cache_clear()
    yield tmp_path / "cache"
    code_place.cache_clear()


def test_all_code_is_there_once_somebody_has_compiled_it() -> None:
    assert not is_complete()
    with compiling_alone(time.monotonic, time.sleep):
        mark_complete()
    assert is_complete()


def test_without_a_place_there_is_nothing_to_wait_for(place: Path) -> None:
    place.touch()
    assert code_place() is None
    assert is_complete()
    with compiling_alone(time.monotonic, time.sleep):
        mark_complete()


def test_code_of_versions_that_were_not_used_lately_goes_with_the_next_one(place: Path) -> None:
    mine = code_place()
    assert mine is not None
    names = [f"{number:016x}" for number in range(10)]
    for number, name in enumerate(names):
        other = place / "compiled" / name
        other.mkdir()
        (other / "code.nbi").touch()
        os.utime(other, (number, number))
    (place / "compiled" / "notes").mkdir()
    assert [path.name for path in old_code()] == names[2::-1]
    mark_complete()
    left = sorted(path.name for path in (place / "compiled").iterdir())
    assert left == sorted([mine.name, "notes", *names[3:]])
    assert old_code() == []


def test_who_comes_second_waits_for_the_first() -> None:
    order: list[str] = []

    def second() -> None:
        with compiling_alone(time.monotonic, time.sleep):
            order.append("second")

    with compiling_alone(time.monotonic, time.sleep):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_cache, "LONGEST_WAIT_S", 0.2)
    with compiling_alone(time.monotonic, time.sleep), compiling_alone(time.monotonic, time.sleep):
        mark_complete()
    assert is_complete()


def test_a_change_of_any_module_of_the_room_has_a_place_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr(code_cache, "files", lambda _package: room)
    (room / "a.py").write_text("A = 1\n")
    first = code_place()
    (room / "a.py").write_text("A = 2\n")
    code_place.cache_clear()
    assert code_place() != first
