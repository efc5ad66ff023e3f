"""What sends records to further datasets, besides the one that their route names.

A fork function is behind an entry point of the group `penstock.forks`. What it points to is called
with the options of the configuration as keyword arguments, and returns a `ForkFunction`:

    forks:
      - {to: [gold, silver], plugin: "tiers", options: {least: 100}}

It may name the datasets of `to` and no others, because each has a place in the numbers of rows.
Made on the driver when a feed starts, and in every task; nothing of it travels. It is asked once
per batch and dataset, again for the same records after a failure and in other batches, and must
answer alike. What it raises, or an answer of another length or type, makes records bad
(`FORK_FAILED`), and no others: such a record is in the quarantine once, as a whole, and in no
dataset; a replay asks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from penstock.api.records import Records


class ForkFunction(Protocol):
    """Names further datasets of records. Executors."""

    @property
    def fields(self) -> Sequence[str]:
        """The fields that it wants to see, by their dotted paths."""
        ...

    def datasets(self, records: Records) -> Sequence[Iterable[str]]:
        """The names of further datasets of each record, in their order; an empty one for none."""
        ...
