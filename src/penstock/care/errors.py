"""Errors of the commands that change a feed."""

from collections.abc import Sequence
from typing import NamedTuple

from penstock.errors import PenstockError

_MOST_SHOWN = 20
_MOST_LINES = 9


class ResetRefused(PenstockError):
    """A reset would go back over offsets that were delivered; nothing was moved."""

    code = "RESET_REFUSED"
    exit_code = 2

    def __init__(self, feed: str, places: tuple[str, ...]) -> None:
        shown = "; ".join(places[:10]) + (f"; and {len(places) - 10} more" if places[10:] else "")
        super().__init__(
            f"Feed {feed!r} cannot go back over offsets that it has delivered: {shown}.",
            "No watermark was moved, in any partition. To move only other partitions, name them "
            "with `--topic T:0,1`. Delivering records again is not possible in this version.",
        )
        self.places = places


class ExportRefused(PenstockError):
    """The file of an export could not be written; nothing was changed."""

    code = "EXPORT_REFUSED"
    exit_code = 2

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"The records cannot be written to {path!r}: {why}.",
            "No file was written or changed. Name a new file, in a directory that can be written.",
        )
        self.path = path
        self.why = why


class LineMistake(NamedTuple):
    """Why a line cannot be used. Lines with the same cause are told together; 0: the whole file."""

    number: int
    why: str
    cause: str = ""


class FixedRefused(PenstockError):
    """Lines of a file of corrected records cannot be used; nothing was written."""

    code = "FIXED_REFUSED"
    exit_code = 2

    def __init__(self, path: str, mistakes: Sequence[LineMistake]) -> None:
        alike: dict[str, list[LineMistake]] = {}
        for each in mistakes:
            alike.setdefault(each.cause or each.why, []).append(each)
        shown = [_told_together(each) for each in alike.values()]
        more = f"; and {len(shown) - _MOST_SHOWN} more causes" if shown[_MOST_SHOWN:] else ""
        super().__init__(
            f"The corrected records of {path!r} cannot be used: "
            f"{'; '.join(shown[:_MOST_SHOWN])}{more}.",
            "Nothing was written. Correct or remove these lines, and run the command again. "
            "`penstock errors export` writes the records that wait in the quarantine, a line each.",
        )
        self.path = path
        self.mistakes = tuple(mistakes)


def _told_together(alike: Sequence[LineMistake]) -> str:
    """The first of some mistakes with the same cause, and the lines of the others."""
    first, others = alike[0], [str(each.number) for each in alike[1:]]
    told = f"line {first.number}: {first.why}" if first.number else first.why
    if not others:
        return told
    lines = ", ".join(others[:_MOST_LINES])
    more = f" and {len(others) - _MOST_LINES} more" if others[_MOST_LINES:] else ""
    return f"{told} (the same in line{'s' if others[1:] else ''} {lines}{more})"
