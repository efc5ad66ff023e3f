"""What a feed has learned of its records: schemas of datasets, and schemas that records name."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

import msgspec

from penstock.api.codec import RecordReader
from penstock.api.store import Store
from penstock.datapath.codec.codecs import codec_of, record_reader
from penstock.datapath.schemas.dataset_schemas import DatasetSchemas
from penstock.datapath.schemas.named_schemas import NamedSchemas
from penstock.datapath.stage.decode_by_schema import FIXED, ONLY
from penstock.datapath.stage.shred_plan import MAX_NEW, Samples, TaskReport, Unlearned
from penstock.model.encryption_keys import Keys
from penstock.model.layout import Layout
from penstock.model.names import encode_component
from penstock.model.registered_schema import RegisteredSchema
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
        self._feed = feed
        self._codec = codec_of(feed.decode)
        self._declared = frozenset(encode_component(each.route) for each in feed.datasets)
        self._wanted = self._declared | {fork.dataset for fork in feed.forks}
        self.schemas = DatasetSchemas(store, layout, feed, self.keys)
        self.named = NamedSchemas(store, layout, feed, registry)

    def foresee(self, topics: Iterable[str], room: int = MAX_NEW) -> None:
        """Learn the datasets of records with one schema for all, before any of them was read."""
        if FIXED not in self.named.known:
            return
        unlearned = [(topic, Unlearned("", FIXED, ONLY)) for topic in sorted(set(topics))]
        foreseen = self._named_datasets(unlearned)
        beyond = self._beyond((), foreseen, room)
        foreseen = [each for each in foreseen if each.dataset not in beyond]
        self.schemas.learn_named(foreseen, self.named.ready())

    def learn(self, reports: Sequence[TaskReport], room: int = MAX_NEW) -> bool:
        """Take up what the tasks did not know; True when the records have to be read again.

        Every task may name that many new datasets, so that all of them together may name more than
        there is `room` for. What is beyond it is not kept: without room, the next read refuses it.
        Raises `RegistryTrouble` when only the registry could tell.
        """
        found_new = self.named.learn(key for report in reports for key in report.named)
        unlearned = self._named_datasets(
            (report.evidence.range.topic, each) for report in reports for each in report.unlearned
        )
        samples = [each for report in reports for each in report.samples]
        beyond = self._beyond(samples, unlearned, room)
        unlearned = [each for each in unlearned if each.dataset not in beyond]
        found_new |= self.schemas.learn_named(unlearned, self.named.ready())
        samples = [each for each in samples if each.dataset not in beyond]
        return self.schemas.learn(samples) or found_new or bool(beyond)

    def _named_datasets(self, unlearned: Iterable[tuple[str, Unlearned]]) -> list[Unlearned]:
        """What is to be learned, with the topics of its records, under the names of datasets.

        Records whose schema is known only now were not read. Where their schema or their topic
        names the dataset, it is learned along with the schema, and the next read has both; else
        that read will tell.
        """
        ready = self.named.ready()
        found = []
        for topic, each in unlearned:
            dataset = each.dataset or self._foreseen(topic, each, ready)
            if dataset is not None:
                found.append(msgspec.structs.replace(each, dataset=dataset))
        return found

    def _foreseen(
        self, topic: str, each: Unlearned, ready: Mapping[str, RegisteredSchema | None]
    ) -> str | None:
        """The dataset of records that were not read; None if only a read can tell."""
        schema = ready.get(each.key)
        if schema is None:
            return None
        reader = record_reader(schema, each.message, self._codec)
        if not isinstance(reader, RecordReader):
            return None
        match self._feed.route.kind:
            case "schema":
                text = reader.name
            case "topic":
                text = topic
            case "header" | "field" | "plugin":
                return None
            case _ as never:
                assert_never(never)
        dataset = encode_component(text)
        return dataset if self._feed.unknown == "create" or dataset in self._declared else None

    def _beyond(
        self, samples: Sequence[Samples], unlearned: Sequence[Unlearned], room: int
    ) -> frozenset[str]:
        """The new datasets that there is no room for.

        Those that most records were seen of come first, since each of a flood has few. What the
        configuration names needs no room, as in tasks.
        """
        seen: Counter[str] = Counter()
        for sample in samples:
            seen[sample.dataset] += len(sample.payloads)
        seen.update(each.dataset for each in unlearned)
        known = self.schemas.known.keys() | self._wanted
        new = sorted(seen.keys() - known, key=lambda dataset: (-seen[dataset], dataset))
        return frozenset(new[max(room, 0) :])
