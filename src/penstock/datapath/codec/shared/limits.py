"""How large a single record may be, in every format."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how deep a payload may be. An object without nested ones has depth 1.

    `max_values` is how many values its lists may become, where their items are objects.
    """

    max_bytes: int = 16 * 1024 * 1024
    max_depth: int = 64
    max_values: int = 4 * 1024 * 1024
