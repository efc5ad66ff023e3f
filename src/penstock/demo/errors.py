"""Errors of the demo.

PenstockError
|-- DemoRefused          nothing was started: the directory or the number of records is refused
|-- DemoPartsMissing     the Kafka client that counts is not installed
|-- DemoFailed           a part of the demo ended or took too long
`-- DemoDifference       the count or the audit found a difference
"""

from pathlib import Path

from penstock.errors import PenstockError


class DemoRefused(PenstockError):
    """The directory has other files, or the number of records is out of range."""

    code = "DEMO_REFUSED"
    exit_code = 2


class DemoPartsMissing(PenstockError):
    """A package that only the demo and the tests need is not installed."""

    code = "DEMO_PARTS_MISSING"
    exit_code = 2

    def __init__(self, package: str) -> None:
        super().__init__(
            f"The demo counts with its own Kafka client, and the package {package} is not "
            "installed.",
            "Nothing was started. `make setup` installs it, or install it with pip.",
        )


class DemoFailed(PenstockError):
    """A part of the demo ended, or took too long. The lake is as safe as after any crash."""

    code = "DEMO_FAILED"

    def __init__(self, what: str, log: Path) -> None:
        lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
        tail = "\n".join(lines[-5:])
        super().__init__(what, f"Its log is {str(log)!r} and ends with:\n{tail}")
        self.log = log


class DemoDifference(PenstockError):
    """Records were lost, doubled or changed, or the audit found a difference: a bug."""

    code = "DEMO_DIFFERENCE"
    exit_code = 4

    def __init__(self, what: str, directory: Path) -> None:
        super().__init__(
            f"{what}.",
            f"All files are in {str(directory)!r}, unchanged. This is a bug in Penstock: please "
            "report it, with that directory.",
        )
