"""Secrets for tasks. They always print as `***`."""

from collections.abc import Mapping

_NONE: Mapping[tuple[str, str], bytes] = {}


class Keys:
    """Secret values by verb and by their reference in the configuration.

    Created on the driver when a run starts, and sent to executors inside a closure, which is the
    only way out of the process: it has no JSON form, and its text form shows nothing.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[tuple[str, str], bytes] = _NONE) -> None:
        self._values = dict(values)

    def reveal(self, verb: str, reference: str) -> bytes:
        """The value itself, for the call that needs it, never for a log or an error."""
        return self._values[verb, reference]

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keys) and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._values)))
