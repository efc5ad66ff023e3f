"""Secrets on their way to the tasks that need them. They print as `***`, wherever they are."""

from collections.abc import Mapping

_NONE: Mapping[tuple[str, str], bytes] = {}


class Keys:
    """Values of secrets by verb and by the reference that stands for each in the configuration.

    Made on the driver when a run starts. Travels to executors inside a closure, which is the only
    way out of the process: it has no JSON form, and its text form says nothing.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[tuple[str, str], bytes] = _NONE) -> None:
        self._values = dict(values)

    def reveal(self, verb: str, reference: str) -> bytes:
        """The value itself: for the call that needs it, never for a log or an error."""
        return self._values[verb, reference]

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keys) and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._values)))
