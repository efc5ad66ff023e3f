"""Errors of the audit and of the commands that show a lake."""

from collections.abc import Iterable

from penstock.errors import PenstockError


class AuditDifference(PenstockError):
    """The lake differs from the journal, or the journal's own sums do not add up."""

    code = "AUDIT_DIFFERENCE"
    exit_code = 4

    def __init__(self, feed: str, count: int) -> None:
        places = "one difference" if count == 1 else f"{count} differences"
        super().__init__(
            f"The audit of feed {feed!r} found {places}; the receipt names each.",
            "Nothing was changed. Restore missing and altered files from a backup or a replica of "
            "the lake, move foreign files away, and audit again.",
        )
        self.feed = feed
        self.count = count


class QuarantineUnreadable(PenstockError):
    """A quarantine file is not what its window wrote, so its records cannot be shown."""

    code = "QUARANTINE_UNREADABLE"

    def __init__(self, key: str, why: str) -> None:
        super().__init__(
            f"The quarantine file {key!r} cannot be read: {why}.",
            "Nothing was changed. Run `penstock audit`, which shows what else is wrong, and "
            "restore the file from a backup or a replica of the lake.",
        )
        self.key = key


class DatasetUnknown(PenstockError):
    """The named dataset does not exist: the feed never delivered to it."""

    code = "DATASET_UNKNOWN"
    exit_code = 2

    def __init__(self, feed: str, dataset: str, known: Iterable[str]) -> None:
        super().__init__(
            f"Feed {feed!r} has no dataset {dataset!r}.",
            f"Its datasets are: {', '.join(sorted(known)) or 'none yet'}. These are the "
            "names of the directories.",
        )
        self.feed = feed
        self.dataset = dataset
