"""Errors of the command line itself."""

from penstock.errors import PenstockError


class UsageMistake(PenstockError):
    """A command was asked for something that is not there."""

    code = "USAGE"
    exit_code = 2

    def __init__(self, found: str, advice: str) -> None:
        super().__init__(found, advice)
