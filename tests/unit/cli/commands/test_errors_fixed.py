"""`penstock errors export` and `replay --fixed` through the command line, on a disk.

The work is done here, not by Spark.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.main import main
from penstock.model.spec import LakeSpec
from penstock.runtime.parallel import in_this_process
from tests.helpers.lakes_on_disk import DiskLake
from tests.helpers.quarantined_records import (
    UNTIMED,
    UNTIMED_TOO,
    delivered,
    left,
    lived_twice,
)
from tests.simulator.programs import FEED

TORN = b'{"type": "click"'
GOOD = b'{"type": "click", "at": 1760000000}'
CONFIG = """\
version: 1
lake: ./lake
kafka: {bootstrap.servers: "nowhere:1"}
feeds:
  feed:
    topics: [events]
    route: {by: "field:type"}
    time: {field: at, unit: s}
"""
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiskLake:
    @contextmanager
    def opened(_spec: LakeSpec) -> Iterator[Any]:
        yield in_this_process

    monkeypatch.setattr("penstock.cli.commands.errors_replay.parallel_on_spark", opened)
    found = DiskLake(tmp_path)
    found.config.write_text(CONFIG)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "broken.jsonl"


def act(lake: DiskLake, name: str, *words: str) -> int:
    return main(lake.words("errors", name, FEED, *words))


def edited(file: Path, **changes: object) -> None:
    """Set the values of some lines, by offset: `o1`."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        line["value"] = changes.get(f"o{line['position'].rpartition('/')[2]}", line["value"])
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_exported_records_are_corrected_and_delivered(
    lake: DiskLake, file: Path, capsys: Captured
) -> None:
    room = delivered(lake, [GOOD, UNTIMED, TORN, UNTIMED_TOO])
    assert act(lake, "export", "--to", str(file)) == 0
    assert capsys.readouterr().out == f"3 records of {FEED} are in {file}\n"
    good = GOOD.decode()
    edited(file, o1=good, o2=good)
    assert act(lake, "replay", "--fixed", str(file)) == 0
    told = capsys.readouterr()
    assert told.out == f"2 corrected records of {FEED} would be decoded and delivered\n"
    assert "1 record is unchanged and is left in the quarantine: line " in told.err
    assert "nothing was changed; add --execute" in told.err
    words = ("--fixed", str(file), "--reason", "bad tills", "--author", "ann", "--execute")
    assert act(lake, "replay", *words, "--output", "json") == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["delivered"], row["corrected"], row["unchanged"]) == (2, 2, 1)
    assert row["executed"] is True
    assert [runs for _, runs in left(room)] == [((3, 4),)]
    assert main(lake.words("audit", FEED)) == 0
    assert "2 records corrected by ann in entry" in " ".join(capsys.readouterr().out.split())
    assert main(lake.words("audit", FEED, "--output", "json")) == 0
    (corrected,) = json.loads(capsys.readouterr().out)["corrected"]
    assert (corrected["records"], corrected["reason"]) == (2, "bad tills")
    assert act(lake, "replay", *words) == 2
    told = capsys.readouterr()
    assert "FIXED_REFUSED" in told.err
    assert "does not wait in the quarantine" in told.err


def test_corrected_records_that_are_still_broken_are_told_with_the_new_cause(
    lake: DiskLake, file: Path, capsys: Captured
) -> None:
    """`errors list` shows why they came, which is not why the corrected ones stay."""
    delivered(lake, [GOOD, TORN, UNTIMED])
    assert act(lake, "export", "--to", str(file)) == 0
    edited(file, o1='{"type": "click", "at": "yesterday"}', o2=GOOD.decode())
    capsys.readouterr()
    words = ("--fixed", str(file), "--reason", "x", "--execute")
    assert act(lake, "replay", *words) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"1 corrected record of {FEED} is delivered")
    assert "1 record stays in the quarantine: TIME_UNREADABLE, at: " in told.err
    assert told.err.endswith("; at events/0/1\n")


def test_an_export_can_be_limited_and_does_not_overwrite(
    lake: DiskLake, file: Path, capsys: Captured
) -> None:
    delivered(lake, [GOOD, UNTIMED, TORN])
    assert act(lake, "export", "--to", str(file), "--dataset", "-", "--output", "json") == 0
    assert json.loads(capsys.readouterr().out)["exported"] == 1
    assert json.loads(file.read_text())["reason"] == "NOT_JSON"
    assert act(lake, "export", "--to", str(file)) == 2
    assert "EXPORT_REFUSED" in capsys.readouterr().err
    other = str(file.with_name("other"))
    assert act(lake, "export", "--to", other, "--fingerprint", "000000000000") == 2
    assert act(lake, "export", "--to", other, "--fingerprint", "") == 2
    assert not Path(other).exists()


def test_an_empty_quarantine_gives_no_file(lake: DiskLake, file: Path, capsys: Captured) -> None:
    delivered(lake, [GOOD])
    assert act(lake, "export", "--to", str(file)) == 0
    assert "no record of feed" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--reason", "x"), "--reason is only for --fixed"),
        (("--execute",), "--execute is only for --fixed"),
        (("--fixed", "f", "--dataset", "a"), "does not go with"),
        (("--fixed", "f", "--execute"), "--execute needs a --reason"),
        (("--fixed", "f"), "No such file"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    lake: DiskLake, capsys: Captured, words: tuple[str, ...], why: str
) -> None:
    delivered(lake, [GOOD, TORN])
    assert act(lake, "replay", *words) == 2
    assert why in capsys.readouterr().err


def test_records_of_a_topic_that_was_created_again_are_told_apart(
    lake: DiskLake, file: Path, capsys: Captured
) -> None:
    room = lived_twice(lake, [UNTIMED], [UNTIMED_TOO])
    assert act(lake, "export", "--to", str(file)) == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len({line["topic_id"] for line in lines}) == 2
    assert len({line["position"] for line in lines}) == 1
    for line in lines:
        line["value"] = GOOD.decode()
    without = [{"position": lines[0]["position"], "value": GOOD.decode()}]
    file.write_text(json.dumps(without[0]) + "\n")
    assert act(lake, "replay", "--fixed", str(file)) == 2
    assert "means several records" in capsys.readouterr().err
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert act(lake, "replay", "--fixed", str(file), "--reason", "x", "--execute") == 0
    assert "2 corrected records of feed are delivered, by entry" in capsys.readouterr().out
    assert left(room) == []
    assert main(lake.words("audit", FEED)) == 0
