"""Dotted paths of fields, and the fields that they may mean.

A path leads from field to field: `user.ssn` is `ssn` inside `user`. An event may also have a field
whose own name is `user.ssn`. To hide or remove a field means both of them, so steps that do
this mean all fields whose names, joined by points, are the path.
"""

from collections.abc import Iterator

Names = tuple[str, ...]  # of fields, each inside the one before it

HIDING = frozenset({"mask", "hash", "encrypt"})
NOT_SHOWN = HIDING | {"drop"}
_MOST_PARTS = 10  # of paths that may be read in all ways: there are two to the power of these


def names_of(path: str) -> Names:
    """The fields that a path leads through, as it is usually meant."""
    return tuple(path.split("."))


def spellings(verb: str, path: str) -> Iterator[Names]:
    """All fields that a step of this verb means by a path; the usual one comes first."""
    parts = names_of(path)
    yield parts
    if verb not in NOT_SHOWN or len(parts) == 1:
        return
    if len(parts) > _MOST_PARTS:
        yield (path,)
        return
    for joints in range(1, 2 ** (len(parts) - 1)):
        yield _joined(parts, joints)


def _joined(parts: Names, joints: int) -> Names:
    """The parts, some of them joined by points: the n-th bit says whether the n-th two are."""
    names = [parts[0]]
    for place, part in enumerate(parts[1:]):
        if joints >> place & 1:
            names[-1] += f".{part}"
        else:
            names.append(part)
    return tuple(names)
