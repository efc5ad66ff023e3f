"""Errors of the window loop."""

from penstock.errors import PenstockError


class FormatChanged(PenstockError):
    """The configuration asks for other files than the feed has written so far."""

    code = "FORMAT_CHANGED"
    exit_code = 2

    def __init__(self, feed: str, before: str, now: str) -> None:
        super().__init__(
            f"Feed {feed!r} writes {before} files since its first start, and `format` says {now}.",
            "Nothing was read. No reader takes a directory of both for one table: restore "
            "`format`, or read the topics with a feed of another name.",
        )
        self.before, self.now = before, now
