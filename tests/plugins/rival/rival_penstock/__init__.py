"""A route of a name that another package offers, too."""

from penstock.api.records import Records


class Twin:
    """All records are one dataset."""

    fields = ()

    def datasets(self, records: Records) -> list[str | None]:
        """One name for all."""
        return ["twin"] * len(records)
