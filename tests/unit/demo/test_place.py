"""The demo's directory: whatever the demo did not make stays, and no odd directory is a trace."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.cli.commands import demo as command
from penstock.cli.main import main
from penstock.demo import story
from penstock.demo.errors import DemoDifference, DemoRefused
from penstock.demo.place import Place, prepare

MARKER = ".penstock-demo"
Told = Callable[..., int]


@pytest.fixture
def tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """`penstock demo` in an empty directory, with a story that makes a lake and nothing else."""

    def told(_spec: object, place: Place, *_: object) -> None:
        place.write_config("127.0.0.1:1", 10)
        (place.lake / "events").mkdir(parents=True)

    stub = SimpleNamespace(
        DemoSpec=story.DemoSpec,
        begin=story.begin,
        tell=told,
        show=lambda *_, **__: None,
        judged=lambda _: None,
    )
    monkeypatch.setattr(command, "_story", lambda: stub)
    monkeypatch.chdir(tmp_path)
    return lambda *words: main(["demo", *words])


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def a_demo(root: Path, marker: bytes = b"") -> Path:
    """A directory with the marker of a demo in it."""
    root.mkdir(parents=True)
    (root / MARKER).write_bytes(marker)
    return root


def test_a_link_to_a_directory_is_used_again_and_again(tell: Told, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert tell("--dir", "link") == 0
    assert tell("--dir", "link") == 0
    assert "lake" in names(tmp_path / "real")
    assert tell("--dir", "link", "--rm") == 0
    assert names(tmp_path / "real") == set()
    assert (tmp_path / "link").is_symlink()


def test_the_directory_one_stands_in_is_used_again_and_stays_when_emptied(
    tell: Told, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [tell("--dir", "."), tell("--dir", ".")] == [0, 0]
    assert "lake" in names(tmp_path)
    assert tell("--dir", ".", "--rm") == 0
    assert names(tmp_path) == set()
    assert capsys.readouterr().out.endswith(
        "removed all that the demo made in .; the directory was there before it, and stays\n"
    )


def test_a_directory_that_the_demo_made_is_removed_also_by_a_later_demo(
    tell: Told, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [tell("--dir", "mine"), tell("--dir", "mine", "--rm")] == [0, 0]
    assert names(tmp_path) == set()
    assert capsys.readouterr().out.endswith("removed mine\n")


def test_a_directory_that_the_demo_made_is_removed_from_within(tell: Told, tmp_path: Path) -> None:
    assert tell("--dir", "mine") == 0
    os.chdir(tmp_path / "mine")
    assert tell("--dir", ".", "--rm") == 0
    assert names(tmp_path) == set()


def test_a_directory_that_is_gone_is_refused_in_words(tell: Told, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    os.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert tell("--dir", "demo") == 2


@pytest.mark.parametrize("error", [OSError(16, "Device or resource busy"), OSError("odd")])
def test_a_directory_that_cannot_be_removed_stays_with_a_word(
    tell: Told,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: OSError,
) -> None:
    """As a mount point does."""

    def busy(_: Path) -> None:
        raise error

    monkeypatch.setattr(Path, "rmdir", busy)
    assert [tell("--dir", "mine"), tell("--dir", "mine"), tell("--dir", "mine", "--rm")] == [0] * 3
    assert names(tmp_path / "mine") == set()
    why = error.strerror or "odd"
    assert f"in mine; the directory cannot be removed: {why}\n" in capsys.readouterr().out


def test_what_was_put_there_meanwhile_survives_the_removal(tmp_path: Path) -> None:
    place, _ = prepare(tmp_path / "demo")
    (place.root / "notes.txt").write_text("precious")
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "f").write_text("precious")
    place.lake.symlink_to(tmp_path / "precious")
    assert "not empty" in place.remove()
    assert names(place.root) == {"notes.txt", "lake"}
    assert names(tmp_path / "precious") == {"f"}


def test_lakes_and_files_that_no_demo_makes_are_refused_and_untouched(tmp_path: Path) -> None:
    """A link in place of the lake, a directory in place of a file, a file in place of a lake."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "f").write_text("x")
    (a_demo(tmp_path / "link") / "lake").symlink_to(precious)
    (a_demo(tmp_path / "folder") / "penstock.yaml").mkdir()
    (a_demo(tmp_path / "file") / "lake").write_text("x")
    (tmp_path / "marker" / MARKER).mkdir(parents=True)
    for name, found in [("link", "lake"), ("folder", "penstock.yaml"), ("file", "lake")]:
        with pytest.raises(DemoRefused, match=f": {found}"):
            prepare(tmp_path / name)
        assert names(tmp_path / name) == {found, MARKER}
    with pytest.raises(DemoRefused, match=MARKER):
        prepare(tmp_path / "marker")
    assert names(precious) == {"f"}


@pytest.mark.parametrize(
    "marker",
    [
        b"99999999999999999999\n",
        pytest.param(b"9" * 5_000, id="long"),
        b"\xff\xfe",
        "²\n".encode(),
        b"0\n",
        b"",
    ],
)
def test_a_marker_that_names_no_process_means_that_no_demo_runs(
    tmp_path: Path, marker: bytes
) -> None:
    _, replaced = prepare(a_demo(tmp_path / "demo", marker))
    assert replaced


def test_an_error_without_words_of_the_system_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(_: Path) -> None:
        raise OSError("something odd")

    monkeypatch.setattr("penstock.demo.place.shutil.rmtree", odd)
    (a_demo(tmp_path / "demo") / "lake").mkdir()
    with pytest.raises(DemoRefused, match="something odd"):
        prepare(tmp_path / "demo")


def test_a_demo_that_has_ended_is_no_longer_in_use_whoever_gets_its_process_id(
    tell: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tell("--dir", "demo") == 0
    assert (tmp_path / "demo" / MARKER).read_text().split() == ["made"]

    def broken(*_: object) -> None:
        raise DemoDifference("The audit found a difference", tmp_path / "demo")

    monkeypatch.setattr(command._story(), "judged", broken)
    assert tell("--dir", "demo") == 4
    assert (tmp_path / "demo" / MARKER).read_text().split() == ["made"]


def test_a_demo_of_another_user_is_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_yours(*_: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "kill", not_yours)
    with pytest.raises(DemoRefused, match="process 123"):
        prepare(a_demo(tmp_path / "demo", b"123\n"))


def test_letting_go_brings_nothing_back_and_never_fails(tmp_path: Path) -> None:
    place, _ = prepare(tmp_path / "demo")
    place.remove()
    place.let_go()
    assert not place.root.exists()
