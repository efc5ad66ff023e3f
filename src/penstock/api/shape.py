"""Whether a thing has the members of a protocol, by name; their types are not looked at."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from inspect import isfunction


def missing_members(thing: object, shape: type) -> tuple[str, ...]:
    """The members of a protocol that a thing lacks, sorted; a method must be callable.

    Of a class only methods count: its instances get their data later.
    """
    wanted = _methods_and_properties(shape)
    if isinstance(thing, type):
        wanted = {name: True for name, is_method in wanted.items() if is_method}
    else:
        wanted |= dict.fromkeys(_data(shape), False)
    return tuple(sorted(name for name, is_call in wanted.items() if not _has(thing, name, is_call)))


def _has(thing: object, name: str, is_call: bool) -> bool:
    return callable(getattr(thing, name, None)) if is_call else hasattr(thing, name)


def _methods_and_properties(shape: type) -> dict[str, bool]:
    """Their names, and whether each is a method."""
    return {
        name: isfunction(member)
        for each in _protocols(shape)
        for name, member in vars(each).items()
        if not name.startswith("_")
    }


def _data(shape: type) -> Iterator[str]:
    """The names of annotated attributes, and of the fields of a value such as `Codec`."""
    if is_dataclass(shape):
        yield from (each.name for each in fields(shape))
    for each in _protocols(shape):
        yield from (name for name in vars(each).get("__annotations__", {}) if name[0] != "_")


def _protocols(shape: type) -> list[type]:
    """The protocol and those that it extends."""
    return [each for each in shape.__mro__ if vars(each).get("_is_protocol", False)]
