"""What names the dataset of each record.

A route is behind an entry point of the group `penstock.routes`. What it points to is called with
the options of the configuration as keyword arguments, and returns a `Route`:

    route: {by: "plugin:tenant", options: {depth: 2}}

Made on the driver when a feed starts, and in every task; nothing of it travels. It is asked once
per batch, again for the same records after a failure and in other batches, and must answer alike.
What it raises, or an answer of another length or type, makes records bad (`ROUTE_FAILED`), and no
others: where a batch fails, its parts are asked by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.api.records import Records


class Route(Protocol):
    """Names the datasets of records. Executors."""

    @property
    def fields(self) -> Sequence[str]:
        """The fields that it wants to see, by their dotted paths; none, if bytes are enough.

        With none, it is also asked for the dataset of records that have no value.
        """
        ...

    def datasets(self, records: Records) -> Sequence[str | None] | pa.Array:
        """The name of the dataset of each record, in their order.

        A name may be any text that is not empty; its directory is that text, escaped. A record
        whose name is None or empty goes to the quarantine (`ROUTE_MISSING`).
        """
        ...
