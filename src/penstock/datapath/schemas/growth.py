"""Which of the fields that records brought a dataset can take up. Pure.

The author of a feed's steps does not decide what records contain. A field with which no
step could be done any more, such as one with the name that a step gives to another, gets no column;
all others do.
"""

from collections.abc import Callable, Iterator

from penstock.model.schema import Field, FieldType, list_of, struct_of, with_columns

Fields = tuple[Field, ...]
Path = tuple[str, ...]  # names of fields; those of the objects in a list are inside the list's
IsPossible = Callable[[Fields], bool]


def possible_growth(known: Fields, grown: Fields, is_possible: IsPossible) -> Fields:
    """The known fields with as many of the new ones as are possible together, first come first.

    A new field is taken as it is, or left out with all that is inside it.
    """
    if is_possible(grown):
        return grown
    chosen = _chosen(
        frozenset(),
        list(_additions(known, grown)),
        lambda paths: is_possible(_grown_by(known, grown, paths)),
    )
    return _grown_by(known, grown, chosen)


def _chosen(
    before: frozenset[Path], added: list[Path], are_possible: Callable[[frozenset[Path]], bool]
) -> frozenset[Path]:
    """Halves and their halves are asked for: mostly a single one of many is in the way."""
    together = before | frozenset(added)
    if not added or are_possible(together):
        return together
    if len(added) == 1:
        return before
    half = len(added) // 2
    return _chosen(_chosen(before, added[:half], are_possible), added[half:], are_possible)


def _additions(known: Fields, grown: Fields, path: Path = ()) -> Iterator[Path]:
    """The new fields, each as its path; what is inside a new one is not named."""
    before = {each.name: each for each in known}
    for each in grown:
        here = (*path, each.name)
        if each.name not in before:
            yield here
        else:
            yield from _additions(_inside(before[each.name].type), _inside(each.type), here)


def _grown_by(known: Fields, grown: Fields, chosen: frozenset[Path], path: Path = ()) -> Fields:
    """The known fields with those of the new ones that are chosen; columns are named again."""
    later = {each.name: each for each in grown}
    kept = tuple(
        Field(
            each.name,
            each.column,
            _type_by(each.type, later[each.name].type, chosen, (*path, each.name)),
            each.nullable,
        )
        for each in known
    )
    names = {each.name for each in known}
    new = [each for each in grown if each.name not in names and (*path, each.name) in chosen]
    entries = [(each.name, each.type, each.nullable) for each in new]
    return with_columns(entries, kept=kept, top=not path)


def _type_by(known: FieldType, grown: FieldType, chosen: frozenset[Path], path: Path) -> FieldType:
    if known.kind == "struct":
        return struct_of(_grown_by(known.fields, grown.fields, chosen, path))
    if known.kind == "list" and known.item is not None and grown.item is not None:
        return list_of(_type_by(known.item, grown.item, chosen, path), known.item_nullable)
    return known


def _inside(kind: FieldType) -> Fields:
    while kind.kind == "list" and kind.item is not None:
        kind = kind.item
    return kind.fields
