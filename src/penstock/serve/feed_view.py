"""One feed as metrics show it: which datasets have samples of their own, and partitions or sums."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from penstock.api.reporter import Sample
from penstock.model.manifest import QUARANTINE
from penstock.model.window import Place
from penstock.serve.feed_facts import DatasetFacts, FeedFacts

OTHER = "_other"  # the label of datasets and reasons beyond the bound
UNKNOWN = "_unknown"  # of records in windows that did not record the dataset or the reason
NO_NAME = "_none"  # of records that were meant for no dataset

Samples = Iterator[Sample]


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """How many datasets of a feed have samples of their own; whether partitions have."""

    most_datasets: int = 100
    partitions: bool = False


@dataclass(frozen=True, slots=True)
class FeedView:
    """One feed with the options that say how finely it is shown."""

    facts: FeedFacts
    options: MetricOptions

    def label(self, dataset: str) -> str:
        """The label of a dataset: its name, or that of all others.

        One that was tried before the journal was read again has its name if there is room.
        """
        known = {each.name for each in self.facts.datasets}
        has_room = len(known) < self.options.most_datasets
        return dataset if dataset in self.named or (dataset not in known and has_room) else OTHER

    @property
    def named(self) -> set[str]:
        """The datasets that have samples of their own."""
        known = [each.name for each in self.facts.datasets if each.name != QUARANTINE]
        return {QUARANTINE, NO_NAME, UNKNOWN, *known[: self.options.most_datasets]}

    def by_dataset(
        self, value: Callable[[DatasetFacts], float | None], *, quarantine: bool = True
    ) -> Samples:
        """The sums of a figure, by dataset; no sum has a part that is not known."""
        found: dict[str, list[float | None]] = {}
        named = self.named
        for each in self.facts.datasets:
            if quarantine or each.name != QUARANTINE:
                label = each.name if each.name in named else OTHER
                found.setdefault(label, []).append(value(each))
        for name, parts in found.items():
            known = [part for part in parts if part is not None]
            if len(known) == len(parts):
                yield Sample(sum(known), {"dataset": name})

    def by_place(self, values: Mapping[Place, float], **labels: str) -> Samples:
        """A figure of all partitions: their sum, or each if partitions are shown."""
        if not self.options.partitions:
            yield Sample(sum(values.values()), labels)
            return
        for (topic, partition), value in sorted(values.items()):
            yield Sample(value, {**labels, "topic": topic, "partition": str(partition)})


def one(value: float | None, **labels: str) -> Samples:
    if value is not None:
        yield Sample(value, labels)
