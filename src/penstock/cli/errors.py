"""Errors of the command line itself."""

from penstock.errors import PenstockError


class UsageMistake(PenstockError):
    """The arguments of a command name something that does not exist, or contradict each other."""

    code = "USAGE"
    exit_code = 2

    def __init__(self, found: str, advice: str) -> None:
        super().__init__(found, advice)
