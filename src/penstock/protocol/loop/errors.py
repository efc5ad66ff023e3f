"""Errors of the window loop."""

from penstock.errors import PenstockError


class FormatChanged(PenstockError):
    """The configuration has another file format than the feed has written so far."""

    code = "FORMAT_CHANGED"
    exit_code = 2

    def __init__(self, feed: str, before: str, now: str) -> None:
        super().__init__(
            f"Feed {feed!r} has written {before} files since its first start, but `format` is "
            f"{now}.",
            "Nothing was read. No reader treats a directory with both formats as one table. Set "
            "`format` back, or read the topics with a feed of another name.",
        )
        self.before, self.now = before, now
