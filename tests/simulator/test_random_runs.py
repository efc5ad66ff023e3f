"""Random schedules: a sample, the regressions, and what a failure looks like."""

import re
from pathlib import Path

import pytest

from tests.simulator import random_runs
from tests.simulator.chooser import ListChooser, RandomChooser
from tests.simulator.mutations import MUTATIONS
from tests.simulator.random_runs import kept, run_choices, run_seed, simulate


@pytest.mark.parametrize("block", range(4))
def test_random_schedules_break_no_invariant(block: int) -> None:
    for seed in range(block * 150, block * 150 + 150):
        failure = run_seed(seed)
        assert failure is None, f"seed {seed}: {failure}"


def test_the_schedules_that_were_kept_break_nothing() -> None:
    """Each of them broke the protocol once, or breaks it without one of its rules."""
    regressions = list(kept())
    assert regressions
    for name, choices, fates, faults in regressions:
        failure = run_choices(ListChooser(choices), fates, faults)
        assert failure is None, f"{name}: {failure}"


def test_a_seed_gives_the_same_schedule_every_time() -> None:
    chooser = RandomChooser(7)
    assert run_choices(chooser) is None
    again = RandomChooser(7)
    assert run_choices(again) is None
    assert chooser.taken == again.taken


def test_a_failure_prints_its_seed_and_a_schedule_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Method: switch a rule off in this process and simulate until it fails."""
    monkeypatch.setattr(random_runs, "REGRESSIONS", tmp_path / "regressions")
    mutation = next(each for each in MUTATIONS if each.rule == "epoch check on append")
    with mutation.switch_off():
        assert simulate(100, seed=0, workers=0) == 1
        printed = capsys.readouterr().out
        assert "breaks I" in printed
        assert re.search(r"owner\d starts", printed)
        assert "SEED=" in printed
        [(_, choices, fates, faults)] = kept()
        assert run_choices(ListChooser(choices), fates, faults) is not None
    assert run_choices(ListChooser(choices), fates, faults) is None
