"""Forks, and the row numbers of records that become several rows.

Every row has a number within its Kafka record. An element of an array has its index in the array; a
fork of it has that plus `FORK_ROWS` times the fork's position in the configuration. So numbers do
not collide when forks are added later.
"""

from penstock.model.convert_spec import Condition
from penstock.model.names import encode_component
from penstock.model.plugin_call import PluginCall
from penstock.model.value import Value

FORK_ROWS = 1 << 20
MOST_FORKS = 1_000
ROW_COLUMN = "_row"  # the column with the number; absent if each record is one row


class ForkSpec(Value, frozen=True):
    """Records that meet every condition also go to the dataset `to`.

    With a `call`, those for which the fork function names `to`. With `datasets`, only those that
    were routed to one of them.
    """

    to: str = ""
    when: tuple[Condition, ...] = ()
    datasets: tuple[str, ...] = ()
    call: PluginCall | None = None

    @property
    def dataset(self) -> str:
        """The directory name."""
        return encode_component(self.to)

    def is_for(self, dataset: str) -> bool:
        """Whether the fork applies to records of a dataset; empty for filtered records."""
        return not self.datasets or dataset in {encode_component(each) for each in self.datasets}
