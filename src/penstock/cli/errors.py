"""Errors of the command line itself."""

from penstock.errors import PenstockError


class UsageMistake(PenstockError):
    """The arguments of a command name something that does not exist, or contradict each other."""

    code = "USAGE"
    exit_code = 2

    def __init__(self, found: str, advice: str) -> None:
        super().__init__(found, advice)


class NotCompleteYet(PenstockError):
    """The time of `penstock wait` is over, and the day is not complete."""

    code = "NOT_COMPLETE_YET"
    exit_code = 75  # not now, and perhaps later

    def __init__(self, what: str, label: str, waited_s: float, why: str) -> None:
        super().__init__(
            f"{label} of {what} is not complete after {waited_s:.0f} s: {why}.",
            "Nothing was changed. `penstock status` shows whether the feed runs, and what is "
            "parked; wait again, or longer.",
        )
        self.what = what
        self.label = label
