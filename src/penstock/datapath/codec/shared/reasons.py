"""Why a record is bad: the codes that several formats share. They never change their meaning."""

EMPTY = "EMPTY"
TOO_LONG = "TOO_LONG"
TOO_DEEP = "TOO_DEEP"
TOO_MANY = "TOO_MANY"
NOT_UTF8 = "NOT_UTF8"
TRUNCATED = "TRUNCATED"
TRAILING_BYTES = "TRAILING_BYTES"
WRONG_TYPE = "WRONG_TYPE"
OUT_OF_RANGE = "OUT_OF_RANGE"
MISSING_FIELD = "MISSING_FIELD"


class BadValue(Exception):
    """A value that its column cannot hold: a stable code, where it was found, and what was.

    `wanted` and `found` are the kinds of the column and of the value, where that is the trouble.
    """

    def __init__(
        self, reason: str, path: str, detail: str, wanted: str = "", found: str = ""
    ) -> None:
        super().__init__(f"$.{path}: {detail}")
        self.reason = reason
        self.path = path
        self.wanted = wanted
        self.found = found
