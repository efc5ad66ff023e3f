"""Names that Avro takes, of letters, digits and `_`, for columns of any name."""

import re
from collections.abc import Sequence

_ODD = re.compile(r"[^A-Za-z0-9_]")


def avro_names(names: Sequence[str]) -> list[str]:
    """A name for each column, its own where Avro takes it; no two differ by capitals alone."""
    taken = {name.lower() for name in names if _avro_name(name) == name}
    return [_free(name, taken) for name in names]


def _free(name: str, taken: set[str]) -> str:
    found = plain = _avro_name(name)
    number = 2
    while found != name and found.lower() in taken:
        found, number = f"{plain}_{number}", number + 1
    taken.add(found.lower())
    return found


def _avro_name(name: str) -> str:
    """The name with `_x` and the number of the letter in place of each that Avro does not take."""
    found = _ODD.sub(lambda odd: f"_x{ord(odd[0]):x}", name)
    return found if found and not found[0].isdigit() else f"_{found}"
