"""Errors of looking at a lake."""

from collections.abc import Iterable

from penstock.errors import PenstockError


class AuditDifference(PenstockError):
    """The lake is not what the journal says, or the journal's own sums do not add up."""

    code = "AUDIT_DIFFERENCE"
    exit_code = 4

    def __init__(self, feed: str, count: int) -> None:
        places = "one difference" if count == 1 else f"{count} differences"
        super().__init__(
            f"The audit of feed {feed!r} found {places}; the receipt names each.",
            "Nothing was changed. Put missing or altered files back from a backup or a replica of "
            "the lake, move foreign ones away, and audit again.",
        )
        self.feed = feed
        self.count = count


class QuarantineUnreadable(PenstockError):
    """A quarantine file is not what its window wrote, so its records cannot be shown."""

    code = "QUARANTINE_UNREADABLE"

    def __init__(self, key: str, why: str) -> None:
        super().__init__(
            f"The quarantine file {key!r} cannot be read: {why}.",
            "Nothing was changed. Run `penstock audit`, which tells what else is wrong, and put "
            "the file back from a backup or a replica of the lake.",
        )
        self.key = key


class DatasetUnknown(PenstockError):
    """A dataset was asked for that the feed never delivered to."""

    code = "DATASET_UNKNOWN"
    exit_code = 2

    def __init__(self, feed: str, dataset: str, known: Iterable[str]) -> None:
        super().__init__(
            f"Feed {feed!r} has no dataset {dataset!r}.",
            f"Its datasets are: {', '.join(sorted(known)) or 'none yet'}. The names are those of "
            "the directories.",
        )
        self.feed = feed
        self.dataset = dataset
