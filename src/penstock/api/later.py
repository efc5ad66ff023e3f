"""A function that is imported when it is first called, so that naming it costs nothing."""

from functools import cache
from importlib import import_module
from typing import Any


class Later:
    """The function of `Later("package.module:name")`, imported at its first call.

    A description, such as a codec or a parser of arguments, can name what it needs only when it is
    used. Called in place of the function, in every process; pickles by its text.
    """

    __slots__ = ("target",)

    def __init__(self, target: str) -> None:
        self.target = target

    def get(self) -> Any:
        """The function itself, imported now."""
        return _imported(self.target)

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Call the function."""
        return _imported(self.target)(*given, **named)

    def __repr__(self) -> str:
        return f"Later({self.target!r})"


@cache
def _imported(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
