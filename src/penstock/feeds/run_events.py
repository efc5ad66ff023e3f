"""Events of a run, as values. The command that prints them decides how they look."""

from collections.abc import Callable

import msgspec

from penstock.model.value import Value

Fact = str | int | float | bool | None


class Event(Value, frozen=True):
    """Something that happened to a feed: a stable name, a sentence, and the facts in it."""

    feed: str
    name: str
    sentence: str
    facts: dict[str, Fact] = msgspec.field(default_factory=dict)
    level: str = "info"


Tell = Callable[[Event], None]
