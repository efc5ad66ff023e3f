"""Errors of running feeds."""

from collections.abc import Mapping

from penstock.errors import FeedHalted


class QuarantineTooFull(FeedHalted):
    """Too many records of a window are broken: more likely our reading than the records."""

    code = "QUARANTINE_RATIO"

    def __init__(self, feed: str, quarantined: int, read: int, max_ratio: float) -> None:
        super().__init__(
            f"{quarantined} of {read} records of the next window of feed {feed!r} are broken, "
            f"more than max_ratio {max_ratio:g} allows.",
            "Nothing of the window is visible and the watermark stands. Look at what changed in "
            "the topic; fix the configuration, or raise `quarantine.max_ratio`, and run again.",
        )
        self.quarantined = quarantined
        self.read = read


class DatasetParked(FeedHalted):
    """A feed ended with datasets whose files could not be published."""

    code = "DATASET_PARKED"

    def __init__(self, feed: str, parked: Mapping[str, str]) -> None:
        reasons = "; ".join(f"{dataset}: {parked[dataset]}" for dataset in sorted(parked))
        super().__init__(
            f"{len(parked)} datasets of feed {feed!r} are parked ({reasons}).",
            "Their records are decided and safe in staging, and not visible; all other datasets "
            "went on. Remove the cause, then unpark each of them, and run again.",
        )
        self.parked = dict(parked)
