"""The routes that Penstock brings: by topic, header, field, and by the schema of the record."""

from collections.abc import Sequence

from penstock.api.records import Records, Scalar
from penstock.datapath.shape.route.router import header_values


class TopicRoute:
    """The topic names the dataset."""

    fields: tuple[str, ...] = ()

    def datasets(self, records: Records) -> list[str | None]:
        """The topic, for each record."""
        return [records.topic] * len(records)


class HeaderRoute:
    """The first header of a name names the dataset."""

    fields: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        self._name = name

    def datasets(self, records: Records) -> list[str | None]:
        """The header of each record, as text."""
        return header_values(records.headers_json, self._name)


class FieldRoute:
    """The value of a field names the dataset."""

    def __init__(self, path: str) -> None:
        self.fields = (path,)

    def datasets(self, records: Records) -> Sequence[Scalar]:
        """The value of each record; the router makes texts of numbers and truth values."""
        return records.fields[self.fields[0]]


class SchemaRoute:
    """The name of the record's schema names the dataset."""

    fields: tuple[str, ...] = ()

    def datasets(self, records: Records) -> list[str | None]:
        """The name, for each record."""
        return [records.schema_name or None] * len(records)
