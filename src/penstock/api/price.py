"""What something costs, beyond the prices that a configuration can name.

A price is behind an entry point of the group `penstock.prices`. What it points to is called with
the options of the configuration as keyword arguments, and returns a `Price`:

    prices: {currency: USD, task_hour: 0.05, plugin: "tiers", options: {free_gb: 100}}

`penstock cost` makes it and asks it once for every line that it prints. What it answers is added
to the prices that the configuration names. It decides nothing, and no feed waits for it.
"""

from typing import Protocol

from penstock.model.value import Value


class Used(Value, frozen=True, kw_only=True):
    """What a line of `penstock cost` has used; empty names where a line is not about such a one.

    `records` and `read_bytes` came from the source; `rows`, `files` and `written_bytes` went to
    the lake, in `requests` that write. `task_s` are seconds of tasks.
    """

    feed: str = ""
    topic: str = ""
    dataset: str = ""
    team: str = ""
    records: int = 0
    rows: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    files: int = 0
    requests: int = 0
    task_s: float = 0.0


class Price(Protocol):
    """What something costs. Made and asked by a command, on one thread; safe to repeat."""

    def amount(self, used: Used) -> float:
        """What this costs, in the currency of the configuration; 0 for nothing."""
        ...
