"""What was declared complete."""

from penstock.model.final_days import Frontier
from penstock.model.plural import number_of
from penstock.model.value import Value


class Finalized(Value, frozen=True):
    """An entry that declared days or hours complete, how far, and the directories it marks."""

    entry: int
    frontier: Frontier
    datasets: tuple[str, ...]
    directories: tuple[str, ...]


def finalized_sentence(finalized: tuple[Finalized, ...]) -> str:
    """How far datasets are complete now, in one sentence."""
    last = finalized[-1].frontier
    what = " and ".join(
        f"{name} before {label}"
        for name, label in (("days", last.days_before), ("hours", last.hours_before))
        if label
    )
    datasets = number_of(len({name for each in finalized for name in each.datasets}), "dataset")
    marked = number_of(sum(len(each.directories) for each in finalized), "directory", "directories")
    return f"{what} of {datasets} are complete; {marked} marked"
