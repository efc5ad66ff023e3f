"""What the configuration of a feed says about its directories and the meaning of its rows."""

from penstock.model.row_config import RowConfig
from penstock.model.value import Value


class FeedShape(Value, frozen=True):
    """What readers of a feed rely on.

    `partition` are the directory keys of a dataset, such as `day`; `own` has those of datasets with
    a `partition` of their own, by directory name. `settings` are texts of settings that change
    what rows mean and leave them readable: the route, the time zone and the like. They are a part
    of `config`, which has everything that shapes rows.
    """

    partition: tuple[str, ...]
    own: dict[str, tuple[str, ...]] = {}
    settings: dict[str, str] = {}
    config: RowConfig | None = None

    def keys_of(self, dataset: str) -> tuple[str, ...]:
        """The directory keys of a dataset, by its directory name."""
        return self.own.get(dataset, self.partition)
