"""Where records go: a route by key, a partition value by hash, and a fork function by amount."""

from zlib import crc32

from penstock.api.records import Records


class Tenant:
    """The part of the key before a separator names the dataset."""

    fields = ()

    def __init__(self, separator: str = "/") -> None:
        self._separator = separator

    def datasets(self, records: Records) -> list[str | None]:
        """A name per record; empty without a key."""
        keys = [(key or b"").decode() for key in records.keys.to_pylist()]
        return [key.split(self._separator)[0] for key in keys]


class Bucket:
    """Spreads records over a few directories by the hash of a field."""

    def __init__(self, of: str, count: int = 16) -> None:
        self.fields = (of,)
        self._count = count

    def texts(self, records: Records) -> list[str | None]:
        """The number of a bucket per record."""
        (values,) = records.fields.values()
        return [
            None if value is None else str(crc32(str(value).encode()) % self._count)
            for value in values
        ]


class Tiers:
    """Large orders are gold, too."""

    fields = ("amount",)

    def __init__(self, least: int = 100) -> None:
        self._least = least

    def datasets(self, records: Records) -> list[list[str]]:
        """`gold` or nothing per record."""
        amounts = [each if isinstance(each, int) else 0 for each in records.fields["amount"]]
        return [["gold"] if amount >= self._least else [] for amount in amounts]
