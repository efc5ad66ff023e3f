"""Every command that needs Java says in one sentence that it is missing or wrong, and never traces.

Method: all commands that `docs/commands.md` calls in need of Java, on a lake with something to do,
without any java on this machine, and with a program that is no Java.
"""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.main import main
from tests.helpers.doctored_lakes import DoctoredLake, events
from tests.simulator.programs import FEED

PAGE = Path(__file__).parents[3] / "docs" / "commands.md"
RESET = ("offsets", "reset", FEED, "--to-latest")
COMMANDS = (
    ("run", "--once"),
    ("check",),
    ("status", "--live"),
    ("audit", "--deep"),
    ("errors", "replay", FEED),
    ("offsets", "show", FEED),
    RESET,
    ("demo", "--records", "1000", "--dir", "demo"),
    ("jars", "fetch", "--cache", "jars"),
)
WITHOUT_CONFIG = {"demo", "jars"}
BESIDE = {"status", "audit"}  # their tables name Java with one option only, or by Kafka


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DoctoredLake]:
    lake = DoctoredLake(tmp_path, events(20), 10)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield lake
    for number, handler in before.items():
        signal.signal(number, handler)


def said(lake: DoctoredLake, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    """All that a command prints; it must end with 2."""
    code = main([*words] if words[0] in WITHOUT_CONFIG else lake.words(*words))
    printed = capsys.readouterr()
    assert code == 2, printed
    return printed.out + printed.err


def test_every_command_that_needs_java_is_tried() -> None:
    table = re.findall(r"^\| \[`(\w+)`\].*\| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)
    needing = {name for name, needs in table if "Java" in needs}
    assert len(needing) >= 6
    assert {words[0] for words in COMMANDS} == needing | BESIDE


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_without_java_there_is_one_sentence(
    lake: DoctoredLake, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    found = said(lake, words, capsys)
    assert "JAVA_MISSING: Spark needs Java 17 or 21, but this machine has no java" in found
    assert "Traceback" not in found
    assert not (lake.config.parent / "state").exists(), "no log is left of what never started"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_java_of_another_version_is_named(
    lake: DoctoredLake,
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    java = lake.config.parent / "old" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))
    found = said(lake, words, capsys)
    assert f"JAVA_WRONG: Spark needs Java 17 or 21, but {java} is Java 11." in found
    assert "Traceback" not in found


def test_without_java_nothing_is_claimed(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    def files() -> dict[str, bytes]:
        return {str(each): each.read_bytes() for each in lake.root.rglob("*") if each.is_file()}

    before = files()
    said(lake, ("run", "--once"), capsys)
    assert files() == before
