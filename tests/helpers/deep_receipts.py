"""Deep audits of a lake, and what their receipts say."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from penstock.runtime.parallel import in_this_process
from tests.helpers.doctored_lakes import (
    DoctoredLake,
)


def receipt(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str], *words: str, code: int = 0
) -> dict[str, Any]:
    """What a deep audit prints for programs."""
    assert lake.audit("--deep", "--output", "json", *words) == code, capsys.readouterr()
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def told(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> dict[str, dict[str, list[list[int]]]]:
    """By file: the offsets of each fate, as runs. All of them must be exact."""
    found: dict[str, dict[str, list[list[int]]]] = {}
    for each in receipt(lake, capsys, code=4)["differences"]:
        fates = {part["fate"]: part["runs"] for part in each["offsets"]}
        assert not any(part["among"] or part["more_runs"] for part in each["offsets"])
        found[each["file"]] = fates
    return found


def meanwhile(
    lake: DoctoredLake, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]
) -> None:
    """Let something happen after the journal was read and before the files are."""

    def spread(what: str, work: Any, items: Any, weight: Any) -> list[Any]:
        if what == "files":
            act()
        return in_this_process(what, work, items, weight)

    lake.plain_tools(monkeypatch, spread)
