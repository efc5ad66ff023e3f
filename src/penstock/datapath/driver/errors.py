"""Errors of the driver's side of staging."""

from penstock.errors import PenstockError


class KeysTooLong(PenstockError):
    """The directories of a feed need longer keys than its store takes, however they are cut."""

    code = "KEYS_TOO_LONG"
    exit_code = 2

    def __init__(self, feed: str, needed_bytes: int, longest_key_bytes: int) -> None:
        super().__init__(
            f"The directories of feed {feed!r} need keys of {needed_bytes} bytes, and the lake's "
            f"store takes {longest_key_bytes}.",
            "Nothing was read. Use fewer or shorter keys in `partition`, or a shorter path for "
            "the lake; then run again.",
        )
        self.needed_bytes, self.longest_key_bytes = needed_bytes, longest_key_bytes
