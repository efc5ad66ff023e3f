"""Errors of schemas and converters that cannot be used."""

from penstock.errors import PenstockError


class ConvertRefused(PenstockError):
    """A step cannot be applied to the fields of a dataset."""

    code = "CONVERT_REFUSED"
    exit_code = 2

    def __init__(self, feed: str, of: str, why: str) -> None:
        super().__init__(
            f"A step of `convert` in feed {feed!r} cannot be done for {of}: {why}.",
            "Nothing of the window became visible and the watermark did not move. Change the step, "
            "or limit it to other datasets with `datasets:`, and run again.",
        )
        self.feed = feed


class SchemaRefused(PenstockError):
    """A schema or a pattern of the configuration cannot be turned into columns."""

    code = "SCHEMA_REFUSED"
    exit_code = 2

    def __init__(self, feed: str, of: str, why: str) -> None:
        super().__init__(
            f"The schema of {of} in feed {feed!r} cannot be used: {why}.",
            "Nothing was read. Correct it, and run `penstock check`.",
        )
        self.feed = feed


class SchemaChanged(PenstockError):
    """The registry has another schema for an id than before."""

    code = "SCHEMA_CHANGED"
    exit_code = 5

    def __init__(self, key: str, before: str, now: str) -> None:
        super().__init__(
            f"The registry has another schema for {key} than when it was first used: {before[:12]} "
            f"then, {now[:12]} now.",
            "Nothing was read, because records would be decoded with the wrong schema. One "
            "registry never changes the schema of an id: check that `registry.url` is the right "
            "registry. If it was replaced on purpose, configure a new feed for the records from "
            "then on.",
        )
        self.key = key
