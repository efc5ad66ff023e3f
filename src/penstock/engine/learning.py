"""What a feed has learned of its records: schemas of datasets, and schemas that records name."""

from collections.abc import Sequence

from penstock.engine.registered import WrittenShelf
from penstock.engine.schemas import SchemaShelf
from penstock.journal.layout import Layout
from penstock.model.keys import Keys
from penstock.model.spec import FeedSpec
from penstock.source.registry import Registry
from penstock.store.protocol import Store
from penstock.writer.plan import TaskReport

ROUNDS = 5  # how often one set of records may be read because of what it taught


class Learning:
    """Both shelves of a feed. Driver only; whoever shreds asks it what is known."""

    def __init__(
        self,
        store: Store,
        layout: Layout,
        feed: FeedSpec,
        registry: Registry | None,
        keys: Keys | None = None,
    ) -> None:
        self.keys = keys or Keys()
        self.schemas = SchemaShelf(store, layout, feed, self.keys)
        self.written = WrittenShelf(store, layout, feed, registry)

    def learn(self, reports: Sequence[TaskReport]) -> bool:
        """Take up what the tasks did not know; True when the records have to be read again.

        Raises `RegistryTrouble` when only the registry could tell.
        """
        found_new = self.written.learn(key for report in reports for key in report.named)
        unlearned = [each for report in reports for each in report.unlearned]
        found_new |= self.schemas.learn_written(unlearned, self.written.ready())
        samples = [each for report in reports for each in report.samples]
        return self.schemas.learn(samples) or found_new
