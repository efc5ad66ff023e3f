"""docs/runbook.md has every event and every code, and the blocks of docs/operate.md are sound."""

import configparser
import re
import shlex
from pathlib import Path

import pytest
import yaml

from penstock.config.load import load
from tests.docs import runbook
from tests.docs.run_events import events_in_code, first_cells
from tests.docs.shell import OPERATE, complaint

BASE = {"version": 1, "lake": "./lake", "kafka": {"bootstrap.servers": "nowhere:1"}}


def of_kind(kind: str) -> list[str]:
    text = OPERATE.read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_page_has_the_codes_of_today() -> None:
    page = runbook.PAGE.read_text(encoding="utf-8")
    assert runbook.with_table(page) == page, "run `python -m tests.docs.runbook`"


def test_every_code_has_a_row() -> None:
    assert runbook.advice(runbook.ERRORS.read_text(encoding="utf-8")).keys() == (
        runbook.exit_codes().keys() - {"PENSTOCK"}
    )


def test_every_event_has_a_row_with_its_level_and_what_to_do() -> None:
    page = runbook.PAGE.read_text(encoding="utf-8")
    assert first_cells(page) == events_in_code()
    row = re.compile(r"^\| `(\w+)` \| (info|warning|error) \| ", re.MULTILINE)
    levels = dict(row.findall(OPERATE.read_text(encoding="utf-8")))
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", page, re.MULTILINE)
    assert {name: level for name, level, _ in rows} == levels
    assert [name for name, level, said in rows if level == "error" and said == "Nothing."] == []


def test_configurations_of_the_page_can_be_read(tmp_path: Path) -> None:
    found = [block for block in map(yaml.safe_load, of_kind("yaml")) if "rule_files" not in block]
    own = [each for each in found if each.keys() <= {"run", "feeds"}]
    assert len(own) == 3
    for each in own:
        feeds = each.get("feeds") or {"events": {"topics": ["events"]}}
        (tmp_path / "penstock.yaml").write_text(yaml.safe_dump({**BASE, **each, "feeds": feeds}))
        assert load(tmp_path / "penstock.yaml", {}).feeds


@pytest.mark.parametrize("number", [0, 1])
def test_units_of_the_page_start_commands_that_exist(number: int) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(of_kind("ini")[number])
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/bin/penstock")
    assert complaint(shlex.join(["penstock", *words])) == ""
