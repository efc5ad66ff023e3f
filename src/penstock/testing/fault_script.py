"""Scripts of faults: which of many calls fails, and the death of a process."""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from threading import Lock
from typing import Generic, NoReturn, Protocol, TypeVar

Place = str | Callable[[str], bool]
"""A glob (`journal/*`; a star also crosses slashes), or a question about a key or a path."""


class Died(BaseException):
    """The process has died here. Not an `Exception`, since nothing in a dead process handles it."""


class Scripted(Protocol):
    """What a script needs to know about a fault."""

    @property
    def call(self) -> str:
        """The name of the method that it is about."""
        ...

    @property
    def place(self) -> Place:
        """The key or path that it is about."""
        ...

    @property
    def nth(self) -> int:
        """Which of the calls that fit is hit; the first is 1."""
        ...


F = TypeVar("F", bound=Scripted)


class Script(Generic[F]):
    """Faults with a count of the calls that fitted each, and the life of one process."""

    def __init__(self, faults: Iterable[F]) -> None:
        self._faults = list(faults)
        self._met = [0] * len(self._faults)
        self._lock = Lock()
        self._death: str | None = None

    def meet(self, call: str, place: str) -> F | None:
        """Count this call and return the fault that hits it. Raises `Died` after a death."""
        with self._lock:
            if self._death is not None:
                raise Died(self._death)
            hit = None
            for number, fault in enumerate(self._faults):
                if fault.call != call or not fits(fault.place, place):
                    continue
                self._met[number] += 1
                if self._met[number] == fault.nth and hit is None:
                    hit = fault
            return hit

    def die(self, where: str) -> NoReturn:
        """Die here: this and every later call raises `Died`."""
        with self._lock:
            self._death = where
        raise Died(where)

    def unmet(self) -> list[F]:
        """The faults that never hit, so that a test can notice a script that missed."""
        return [
            fault for fault, met in zip(self._faults, self._met, strict=True) if met < fault.nth
        ]


def fits(wanted: Place, found: str) -> bool:
    """True when a key or path is the one that a fault is about."""
    return fnmatchcase(found, wanted) if isinstance(wanted, str) else wanted(found)
