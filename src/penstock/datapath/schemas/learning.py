"""What a feed has learned of its records: schemas of datasets, and schemas that records name."""

from collections import Counter
from collections.abc import Sequence

from penstock.api.store import Store
from penstock.datapath.schemas.dataset_schemas import DatasetSchemas
from penstock.datapath.schemas.named_schemas import NamedSchemas
from penstock.datapath.stage.shred_plan import MAX_NEW, TaskReport
from penstock.model.encryption_keys import Keys
from penstock.model.layout import Layout
from penstock.model.names import encode_component
from penstock.model.spec import FeedSpec
from penstock.ports.registry.registry import Registry

ROUNDS = 5  # how often one set of records may be read because of what it taught


class Learning:
    """All schemas of a feed, of its datasets and of its records. Driver only."""

    def __init__(
        self,
        store: Store,
        layout: Layout,
        feed: FeedSpec,
        registry: Registry | None,
        keys: Keys | None = None,
    ) -> None:
        self.keys = keys or Keys()
        declared = {encode_component(each.route) for each in feed.datasets}
        self._wanted = frozenset(declared | {fork.dataset for fork in feed.forks})
        self.schemas = DatasetSchemas(store, layout, feed, self.keys)
        self.named = NamedSchemas(store, layout, feed, registry)

    def learn(self, reports: Sequence[TaskReport], room: int = MAX_NEW) -> bool:
        """Take up what the tasks did not know; True when the records have to be read again.

        Every task may name that many new datasets, so that all of them together may name more than
        there is `room` for. What is beyond it is not kept: without room, the next read refuses it.
        Raises `RegistryTrouble` when only the registry could tell.
        """
        found_new = self.named.learn(key for report in reports for key in report.named)
        beyond = self._beyond(reports, room)
        unlearned = [each for report in reports for each in report.unlearned]
        unlearned = [each for each in unlearned if each.dataset not in beyond]
        found_new |= self.schemas.learn_named(unlearned, self.named.ready())
        samples = [each for report in reports for each in report.samples]
        samples = [each for each in samples if each.dataset not in beyond]
        return self.schemas.learn(samples) or found_new or bool(beyond)

    def _beyond(self, reports: Sequence[TaskReport], room: int) -> frozenset[str]:
        """The new datasets that there is no room for.

        Those that most records were seen of come first, since each of a flood has few. What the
        configuration names needs no room, as in tasks.
        """
        seen: Counter[str] = Counter()
        for report in reports:
            seen.update({each.dataset: len(each.payloads) for each in report.samples})
            seen.update(each.dataset for each in report.unlearned)
        known = self.schemas.known.keys() | self._wanted
        new = sorted(seen.keys() - known, key=lambda dataset: (-seen[dataset], dataset))
        return frozenset(new[max(room, 0) :])
