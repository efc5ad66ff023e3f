"""What is behind a door, by its name.

A package offers something by an entry point: the group is the door, the name is what a
configuration writes, and the target is an attribute of a module. What Penstock brings itself is
offered in the same way, in its own `pyproject.toml`. Nothing is imported before it is named.

    offers      every name behind a door, from the metadata of installed packages alone
    offer       the one offer of a name; raises `PluginUnknown` or `PluginAmbiguous`
    load        imports what an offer points to, and checks its shape; raises `ExtraMissing` or
                `PluginBroken`
    find        `offer`, then `load`
    make        calls what is behind a door that makes things, and checks what came out

Only the driver looks for names: an executor has no metadata of packages. A `PluginRef` travels
there, and `load` imports its target.
"""

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import Generic, TypeVar, cast

from penstock.api.errors import ExtraMissing, PluginAmbiguous, PluginBroken, PluginUnknown
from penstock.api.shape import missing_members
from penstock.errors import PenstockError
from penstock.model.plugin import PluginRef

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_LONGEST_WHY = 300
# Not of a plug-in's doing: whoever ends the process, or the task, is obeyed.
STOPS = (KeyboardInterrupt, SystemExit)


@dataclass(frozen=True, slots=True)
class Door(Generic[T_co]):
    """One kind of thing that packages may offer. `T_co` is what `find` returns.

    `shapes` are protocols: what is behind the door has all members of one of them. With
    `is_maker` the target is a class or a function, and what it returns has that shape.
    """

    word: str  # in messages: `a route called 'x'`
    group: str
    shapes: tuple[type, ...] = ()
    is_maker: bool = False


def offers(door: Door[T]) -> tuple[PluginRef, ...]:
    """Everything that installed packages offer behind a door, in the order of names."""
    return _offered(door.word, door.group, tuple(sys.path))


@lru_cache(maxsize=64)
def _offered(word: str, group: str, _path: tuple[str, ...]) -> tuple[PluginRef, ...]:
    """The offers of a group. Made once: each time would read and parse files of every package."""
    found = {_ref(word, entry) for entry in entry_points(group=group)}
    return tuple(sorted(found, key=lambda each: (each.name, each.package, each.target)))


def offer(door: Door[T], name: str) -> PluginRef:
    """The one offer of a name. Driver only; reads metadata and imports nothing."""
    every = offers(door)
    found = [each for each in every if each.name == name]
    if not found:
        raise PluginUnknown(door.word, door.group, name, _names(every))
    if len({each.target for each in found}) > 1:
        raise PluginAmbiguous(found)
    return found[0]


def find(door: Door[T], name: str) -> T:
    """What is behind a name, imported and checked. Driver only."""
    return load(door, offer(door, name))


def load(door: Door[T], ref: PluginRef) -> T:
    """What an offer points to, imported and checked once per process. Driver and executors."""
    return cast("T", _loaded(door, ref))


def make(door: Door[Callable[..., T]], ref: PluginRef, /, *given: object, **options: object) -> T:
    """Call what is behind a door, and check what it returns. Driver and executors.

    An error of its code is `PluginBroken`; one of ours, such as `StoreUnavailable`, is passed on.
    """
    maker = load(door, ref)
    try:
        made = maker(*given, **options)
        _check(ref, made, door.shapes)
    except (*STOPS, PenstockError):
        raise
    except BaseException as error:
        raise PluginBroken(ref, said(error)) from error
    return made


def said(error: BaseException) -> str:
    """An error in one line."""
    try:
        words = " ".join(str(error).split())
    except STOPS:
        raise
    except BaseException:  # noqa: BLE001  its `__str__` is code of the plug-in, too
        words = "an error without words"
    line = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return line.encode("utf-8", "replace").decode()[:_LONGEST_WHY]


@lru_cache(maxsize=256)
def _loaded(door: Door[T], ref: PluginRef) -> object:
    found = _imported(ref)
    if door.is_maker and not callable(found):
        raise PluginBroken(ref, "it cannot be called")
    if not door.is_maker or isinstance(found, type):
        _check(ref, found, door.shapes)
    return found


def _imported(ref: PluginRef) -> object:
    """The attribute of the module. A module that is not there may be that of an extra."""
    module, _, attribute = ref.target.partition(":")
    try:
        found: object = importlib.import_module(module)
        for part in attribute.split(".") if attribute else ():
            found = getattr(found, part)
    except STOPS:
        raise
    except ModuleNotFoundError as error:
        name = error.name or ""
        if ref.extras and name.partition(".")[0] != module.partition(".")[0]:
            raise ExtraMissing(ref, name) from error
        raise PluginBroken(ref, said(error)) from error
    except BaseException as error:
        raise PluginBroken(ref, said(error)) from error
    return found


def _check(ref: PluginRef, found: object, shapes: tuple[type, ...]) -> None:
    """Raise `PluginBroken` unless all members of one of the shapes are there."""
    try:
        lacks = [missing_members(found, shape) for shape in shapes]
    except STOPS:
        raise
    except BaseException as error:  # a property is code of the plug-in, too
        raise PluginBroken(ref, said(error)) from error
    if lacks and all(lacks):
        raise PluginBroken(ref, f"it has no {' and no '.join(_listed(shapes, lacks))}")


def _listed(shapes: Sequence[type], lacks: Sequence[Sequence[str]]) -> Iterator[str]:
    """The members that are missing; where there are several shapes, of which one each is."""
    for shape, names in zip(shapes, lacks, strict=True):
        yield from (f"`{each}`" + (f" of {shape.__name__}" if shapes[1:] else "") for each in names)


def _ref(word: str, entry: EntryPoint) -> PluginRef:
    name, version = ("", "") if entry.dist is None else _name_and_version(entry.dist)
    target = entry.value.partition("[")[0].replace(" ", "")
    return PluginRef(word, entry.name, target, name, version, tuple(entry.extras))


@lru_cache(maxsize=64)
def _name_and_version(package: Distribution) -> tuple[str, str]:
    """Of all entries of a package at once: the whole of its metadata is parsed for each."""
    parsed = package.metadata
    return parsed["Name"], parsed["Version"]


def _names(found: Iterable[PluginRef]) -> list[str]:
    return list(dict.fromkeys(each.name for each in found))
