"""The schemas of a feed's datasets: kept in the lake, numbered, learned when a new type comes."""

import msgspec

from penstock.codec.json_codec import JsonCodec
from penstock.errors import EntryDamaged
from penstock.journal.layout import Layout
from penstock.model.names import encode_component
from penstock.model.schema import DatasetSchema
from penstock.model.spec import FeedSpec
from penstock.store.protocol import Store
from penstock.store.surely import create_surely
from penstock.writer.plan import Samples

_decoder = msgspec.json.Decoder(DatasetSchema)


class SchemaShelf:
    """What is known of every dataset, newest version. Driver only.

    A schema object is created once under its number and never changed; two owners that learn the
    same type at once end up with the one that was first.
    """

    def __init__(self, store: Store, layout: Layout, feed: FeedSpec) -> None:
        self._store = store
        self._prefix = layout.schemas
        self._codec = JsonCodec()
        self.known: dict[str, DatasetSchema] = {}
        self._load()
        self._declare(feed)

    def learn(self, samples: list[Samples]) -> bool:
        """Take up new datasets and new fields; True when a dataset was new."""
        found_new = False
        for dataset in sorted({each.dataset for each in samples}):
            mine = [each for each in samples if each.dataset == dataset]
            payloads = [payload for each in mine for payload in each.payloads]
            known = self.known.get(dataset)
            if known is None:
                self._keep(self._codec.infer(payloads, dataset))
                found_new = True
            elif not known.declared:
                promoted = self._codec.promote(known, payloads)
                if promoted != known:
                    self._keep(promoted)
        return found_new

    def _load(self) -> None:
        for key in self._store.list_after(self._prefix):
            raw = self._store.read(key)
            if raw is not None:
                schema = self._decode(key, raw)
                known = self.known.get(schema.dataset)
                if known is None or known.version < schema.version:
                    self.known[schema.dataset] = schema

    def _declare(self, feed: FeedSpec) -> None:
        """Declared schemas come from the configuration; a change of the file is a new version."""
        for declared in feed.datasets:
            if declared.schema_kind is None:
                continue
            dataset = encode_component(declared.route)
            wanted = self._codec.schema_from(declared.schema_kind, declared.schema_text, dataset)
            known = self.known.get(dataset)
            if known is None:
                self._keep(wanted)
            elif (known.fields, known.declared) != (wanted.fields, True):
                self._keep(msgspec.structs.replace(wanted, version=known.version + 1))

    def _keep(self, schema: DatasetSchema) -> None:
        key = f"{self._prefix}/{schema.dataset}/{schema.version:06}.json"
        mine = msgspec.json.encode(schema)
        other = create_surely(self._store, key, mine)
        self.known[schema.dataset] = schema if other is None else self._decode(key, other)

    def _decode(self, key: str, raw: bytes) -> DatasetSchema:
        try:
            return _decoder.decode(raw)
        except msgspec.MsgspecError as error:
            raise EntryDamaged(key, f"it is no schema: {error}") from error
