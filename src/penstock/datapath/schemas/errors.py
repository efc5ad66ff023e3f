"""Errors of schemas and converters that cannot work, found before a record is converted."""

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


class SchemaRefused(PenstockError):
    """A schema or a pattern of the configuration cannot become columns."""

    code = "SCHEMA_REFUSED"
    exit_code = 2

    def __init__(self, feed: str, of: str, why: str) -> None:
        super().__init__(
            f"The schema of {of} in feed {feed!r} cannot be used: {why}.",
            "Nothing was read. Change it, and look at it with `penstock check`.",
        )
        self.feed = feed


class SchemaChanged(PenstockError):
    """A registry shows another schema behind an id than before."""

    code = "SCHEMA_CHANGED"
    exit_code = 5

    def __init__(self, key: str, before: str, now: str) -> None:
        super().__init__(
            f"The registry has another schema for {key} than when it was first used: {before[:12]} "
            f"then, {now[:12]} now.",
            "Nothing was read, because records written with one would be taken for the other. An "
            "id never changes its meaning in one registry: check that `registry.url` leads to the "
            "same one. If it was replaced on purpose, begin a new feed for records from then on.",
        )
        self.key = key
