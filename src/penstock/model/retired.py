"""What a round of retention has removed."""

from penstock.model.plural import number_of
from penstock.model.value import Value


class Retired(Value, frozen=True):
    """Files of one dataset that went, with their rows, and the entry that removed them."""

    dataset: str
    entry: int
    files: tuple[str, ...]
    rows: int


def retired_sentence(retired: tuple[Retired, ...]) -> str:
    """What went, in one sentence."""
    files = sum(len(each.files) for each in retired)
    rows = sum(each.rows for each in retired)
    datasets = len({each.dataset for each in retired})
    return (
        f"{number_of(files, 'file')} with {number_of(rows, 'row')} of "
        f"{number_of(datasets, 'dataset')} {'was' if files == 1 else 'were'} past retention and "
        f"{'is' if files == 1 else 'are'} removed"
    )
