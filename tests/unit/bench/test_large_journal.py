"""The bench of large and old feeds runs as a whole: here on a journal that is neither."""

import re

import pytest

from bench.large_journal import old, sealed

COUNTED = r"^ +(\d+) +[\d,]+  ([a-z ]+)$"


def test_an_old_journal_is_made_opened_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    old(windows=620, files=1)
    said = capsys.readouterr().out
    counted = {what: count for count, what in re.findall(COUNTED, said, re.MULTILINE)}
    assert counted == {
        "entries": "623",
        "done markers": "620",
        "checkpoints": "1",
        "inventory roots": "1",
        "inventory shards": "1",
    }, said


def test_a_journal_is_sealed_and_read_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    sealed(windows=620, files=1)
    said = capsys.readouterr().out
    left = re.findall(r"^ +(\d+) +[\d,]+ +(\d+) +[\d,]+  ([a-z]+)$", said, re.MULTILINE)
    assert left == [("623", "101", "journal"), ("620", "100", "done"), ("0", "1", "segments")], said
    assert "a million windows: " in said
