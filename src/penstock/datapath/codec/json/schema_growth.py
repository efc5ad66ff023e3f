"""Which schema a sample of records suggests, and how a schema grows. Runs on the driver."""

from collections.abc import Iterable, Sequence

from penstock.datapath.codec.json.inference import SeenField
from penstock.datapath.codec.json.usual_kinds import see_usual
from penstock.datapath.codec.shared.limits import Limits
from penstock.model.pinned_types import TypeTree
from penstock.model.schema import (
    MAX_FIELDS,
    DatasetSchema,
    Field,
    FieldType,
    count_fields,
    count_nested,
    list_of,
    struct_of,
    with_columns,
)


def infer(
    samples: Sequence[bytes],
    dataset: str,
    version: int,
    limits: Limits,
    types: TypeTree | None = None,
) -> DatasetSchema:
    """The schema that the samples suggest; a field more than the limit gets no column."""
    entries = see_usual(samples, limits, types).entries()
    fields = with_columns(_within(entries, MAX_FIELDS), top=True)
    return DatasetSchema(dataset, version, declared=False, fields=fields)


def _within(
    entries: Iterable[tuple[str, FieldType, bool]], budget: int
) -> list[tuple[str, FieldType, bool]]:
    """The entries that the budget of fields allows, first come, first served."""
    kept = []
    for name, kind, nullable in entries:
        cost = 1 + count_nested(kind)
        if cost <= budget:
            kept.append((name, kind, nullable))
            budget -= cost
    return kept


def promote(
    schema: DatasetSchema,
    samples: Sequence[bytes],
    limits: Limits,
    types: TypeTree | None = None,
) -> DatasetSchema:
    """The next version, with columns for new fields; the same schema if there is nothing to add.

    Columns that exist keep their place, name and type; objects may gain fields inside. A declared
    schema is changed by its declaration only.
    """
    if schema.declared:
        return schema
    budget = MAX_FIELDS - count_fields(schema.fields)
    fields = _Growth(budget).fields(schema.fields, see_usual(samples, limits, types), top=True)
    if fields == schema.fields:
        return schema
    return DatasetSchema(schema.dataset, schema.version + 1, declared=False, fields=fields)


class _Growth:
    """Adds what was seen to the fields that exist, as long as the budget of fields lasts."""

    def __init__(self, budget: int) -> None:
        self._budget = budget

    def fields(self, known: tuple[Field, ...], seen: SeenField, *, top: bool) -> tuple[Field, ...]:
        """The known fields, grown inside, then the new ones."""
        grown = tuple(self._field(field, seen.fields.get(field.name)) for field in known)
        names = {field.name for field in known}
        new = _within([each for each in seen.entries() if each[0] not in names], self._budget)
        self._budget -= sum(1 + count_nested(kind) for _, kind, _ in new)
        return with_columns(new, kept=grown, top=top)

    def _field(self, field: Field, seen: SeenField | None) -> Field:
        if seen is None:
            return field
        return Field(field.name, field.column, self._type(field.type, seen), field.nullable)

    def _type(self, kind: FieldType, seen: SeenField) -> FieldType:
        """The same type; only structs, also those in lists, gain fields."""
        if kind.kind == "struct" and seen.kind == "struct":
            return struct_of(self.fields(kind.fields, seen, top=False))
        if kind.kind == "list" and seen.kind == "list" and kind.item and seen.item:
            return list_of(self._type(kind.item, seen.item), kind.item_nullable)
        return kind
