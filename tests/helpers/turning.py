"""Taking the turns of a run's feeds one after the other, on the thread of the test."""

from penstock.feeds.runner import Runner
from penstock.model.exit_codes import worst


def open_all(runner: Runner) -> None:
    """Fold the journals, and let sources be asked."""
    assert runner._ready.is_ready() or runner._ready.wait(10.0)
    for turns in runner.turns:
        if turns.stage == "opening":
            turns.turn()


def turn_all(runner: Runner) -> None:
    """One turn of every feed that has not ended, until the run is to stop; then their rest."""
    rests = []
    for turns in runner.turns:
        if turns.stage != "ended" and not runner.is_stopping():
            rests.append(turns.turn())
    if not runner.is_stopping() and rests and min(rests) > 0:
        runner.tools.around.sleep(min(rests))


def run_turn_by_turn(runner: Runner) -> int:
    """A whole run on this thread: whenever no feed has anything to do, they all rest."""
    open_all(runner)
    while any(turns.stage != "ended" for turns in runner.turns) and not runner.is_stopping():
        turn_all(runner)
    for turns in runner.turns:
        if turns.stage != "ended":
            turns.close()
    return worst(error.exit_code for error in runner.failures.values())
