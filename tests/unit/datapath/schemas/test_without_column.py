"""Why learning has passed over a field: by what is known, found and settled."""

import pytest

from penstock.datapath.schemas.without_column import has_column, paths_beyond, with_causes
from penstock.model.pinned_types import TypeTree, type_tree
from penstock.model.read_ways import (
    IMPOSSIBLE_STEP,
    LONG_NAME,
    MOST_CONFLICTS,
    NO_ROOM,
    OTHER_PATHS,
    OUT_OF_RANGE,
    SEVERAL_KINDS,
    Conflict,
    ReadWays,
)
from penstock.model.schema import (
    INT64,
    MAX_FIELDS,
    DatasetSchema,
    Field,
    FieldType,
    list_of,
    struct_of,
    with_columns,
)


def fields(**types: FieldType) -> tuple[Field, ...]:
    return with_columns([(name, kind, True) for name, kind in types.items()], top=True)


KNOWN = DatasetSchema(
    "d", 1, declared=False, fields=fields(a=INT64, items=list_of(struct_of(fields(x=INT64))))
)
FULL = DatasetSchema(
    "d", 1, declared=False, fields=fields(**{f"f{n}": INT64 for n in range(MAX_FIELDS)})
)


def causes(
    *found: tuple[str, str],
    known: DatasetSchema = KNOWN,
    types: TypeTree | None = None,
    impossible: frozenset[str] = frozenset(),
) -> list[str]:
    conflicts = tuple(Conflict(path, "", kind, 1, "t", 0, 0) for path, kind in found)
    ways = with_causes(
        ReadWays("d", 1, conflicts=conflicts), known, types or TypeTree(), impossible
    )
    return [each.cause for each in ways.conflicts]


@pytest.mark.parametrize(
    ("path", "kind", "cause"),
    [
        ("a", "integer", ""),  # learned just now
        ("items[].x", "integer", ""),
        ("items[].y", "array", SEVERAL_KINDS),
        ("b", "object", SEVERAL_KINDS),
        ("b", "integer", OUT_OF_RANGE),
        ("b", "string", ""),
        ("b", LONG_NAME, LONG_NAME),
    ],
)
def test_a_field_has_the_cause_that_its_values_show(path: str, kind: str, cause: str) -> None:
    assert causes((path, kind)) == [cause]


def test_values_of_several_kinds_are_told_by_their_kinds() -> None:
    assert causes(("b", "integer"), ("b", "string")) == ["", ""]
    assert causes(("b", "integer"), ("b", "fraction")) == [OUT_OF_RANGE, OUT_OF_RANGE]


def test_a_full_dataset_an_impossible_step_and_other_types_are_causes() -> None:
    assert causes(("b", "array"), known=FULL) == [NO_ROOM]
    assert causes(("b", "string"), impossible=frozenset({"b"})) == [IMPOSSIBLE_STEP]
    assert causes(("b", "string"), types=type_tree((("b.c", "string"),))) == [OTHER_PATHS]


def test_in_a_flood_of_new_fields_later_windows_may_teach_them() -> None:
    flood = [(f"u{number}", "integer") for number in range(MOST_CONFLICTS)]
    assert set(causes(*flood)) == {""}


def test_a_declared_schema_has_no_such_fields() -> None:
    declared = DatasetSchema("d", 1, declared=True, fields=KNOWN.fields)
    assert causes(("b", "array"), known=declared) == [""]


def test_paths_of_a_schema() -> None:
    assert has_column(KNOWN.fields, "items[].x")
    assert not has_column(KNOWN.fields, "items.x")
    grown = fields(a=INT64, items=list_of(struct_of(fields(x=INT64, y=INT64))), new=INT64)
    assert paths_beyond(grown, KNOWN.fields) == {"items[].y", "new"}
