"""One record in several datasets, and several records in one: how their rows are numbered.

Every row has a number within its Kafka record. An element of an array that is spread has its place
in the array; a fork of it, that plus `FORK_ROWS` times the fork's place in the configuration. So
the numbers stay apart whatever is added to the configuration later.
"""

from penstock.model.convert_spec import Condition
from penstock.model.names import encode_component
from penstock.model.value import Value

FORK_ROWS = 1 << 20
MOST_FORKS = 1_000
ROW_COLUMN = "_row"  # holds the number in files; absent where each record is one row


class ForkSpec(Value, frozen=True):
    """Records that fulfil every condition go to the dataset `to` as well.

    With `datasets`, only those that were routed to one of them.
    """

    to: str = ""
    when: tuple[Condition, ...] = ()
    datasets: tuple[str, ...] = ()

    @property
    def dataset(self) -> str:
        """The directory name."""
        return encode_component(self.to)

    def is_for(self, dataset: str) -> bool:
        """Whether records of a dataset are asked at all; that of filtered ones is empty."""
        return not self.datasets or dataset in {encode_component(each) for each in self.datasets}
