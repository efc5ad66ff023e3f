"""Errors of converters that cannot work, found before a record is converted."""

from collections.abc import Sequence

from penstock.errors import PenstockError


class ConvertRefused(PenstockError):
    """A step makes no sense for the fields that a dataset has."""

    code = "CONVERT_REFUSED"
    exit_code = 2

    def __init__(self, feed: str, of: str, why: str) -> None:
        super().__init__(
            f"A step of `convert` in feed {feed!r} cannot be done for {of}: {why}.",
            "Nothing of the window became visible and the watermark stands. Change the step, or "
            "name with `datasets:` the datasets that it is for, and run again.",
        )
        self.feed = feed


class ConverterMissing(PenstockError):
    """A plug-in is named that no installed package offers."""

    code = "CONVERTER_MISSING"
    exit_code = 2

    def __init__(self, feed: str, name: str, known: Sequence[str]) -> None:
        found = f"There are: {', '.join(known)}." if known else "There is none at all."
        super().__init__(
            f"Feed {feed!r} converts with the plug-in {name!r}, which no installed package offers. "
            f"{found}",
            "Nothing was read. Install the package that offers it here and on every executor, or "
            "correct the name.",
        )
        self.name = name
