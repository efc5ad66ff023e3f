"""Errors of running feeds."""

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
