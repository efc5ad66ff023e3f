"""The schemas of a feed's datasets: kept in the lake, numbered, learned when a new type comes."""

from collections.abc import Iterable, Mapping

import msgspec

from penstock.codec.json_codec import JsonCodec
from penstock.codec.unsupported import SchemaUnsupported
from penstock.codec.writers import writer_of
from penstock.codec.written import Writer
from penstock.engine.errors import SchemaRefused
from penstock.errors import EntryDamaged
from penstock.journal.layout import Layout
from penstock.model.merging import Incompatible, first_version, merged
from penstock.model.names import encode_component
from penstock.model.registered import RegisteredSchema
from penstock.model.schema import DatasetSchema, Field
from penstock.model.spec import DatasetSpec, FeedSpec
from penstock.store.protocol import Store
from penstock.store.surely import create_surely
from penstock.writer.plan import Samples, Unlearned

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

    def learn_written(
        self, unlearned: Iterable[Unlearned], written: Mapping[str, RegisteredSchema | None]
    ) -> bool:
        """Let datasets cover the schemas that their records were written with; True if one grew."""
        grown = False
        for each in unlearned:
            schema = written.get(each.key)
            writer = None if schema is None else writer_of(schema, each.message)
            if isinstance(writer, Writer):
                grown |= self._grow(each.dataset, writer.fields)
        return grown

    def _grow(self, dataset: str, fields: tuple[Field, ...]) -> bool:
        """Merge fields into a dataset's schema. Tasks find out by themselves what cannot be."""
        known = self.known.get(dataset)
        if known is None:
            self._keep(DatasetSchema(dataset, 1, declared=True, fields=first_version(fields)))
            return True
        try:
            grown = merged(known.fields, fields)
        except Incompatible:
            return False
        if grown == known.fields:
            return False
        self._keep(msgspec.structs.replace(known, version=known.version + 1, fields=grown))
        return True

    def _load(self) -> None:
        for schema in kept_schemas(self._store, self._prefix):
            known = self.known.get(schema.dataset)
            if known is None or known.version < schema.version:
                self.known[schema.dataset] = schema

    def _declare(self, feed: FeedSpec) -> None:
        """Declared schemas come from the configuration; a change of the file is a new version."""
        for declared in feed.datasets:
            if declared.schema_kind is None:
                continue
            dataset = encode_component(declared.route)
            wanted = declared_schema(feed, declared)
            known = self.known.get(dataset)
            if known is None:
                self._keep(wanted)
            elif (known.fields, known.declared) != (wanted.fields, True):
                self._keep(msgspec.structs.replace(wanted, version=known.version + 1))

    def _keep(self, schema: DatasetSchema) -> None:
        key = f"{self._prefix}/{schema.dataset}/{schema.version:06}.json"
        mine = msgspec.json.encode(schema)
        other = create_surely(self._store, key, mine)
        self.known[schema.dataset] = schema if other is None else _decode(key, other)


def declared_schema(feed: FeedSpec, declared: DatasetSpec) -> DatasetSchema:
    """The schema of a dataset's file; raises `SchemaRefused` when it cannot be used."""
    kind, dataset = declared.schema_kind or "avsc", encode_component(declared.route)
    try:
        return JsonCodec().schema_from(kind, declared.schema_text, dataset)
    except SchemaUnsupported as error:
        why = f"at {error.path}, {error.why}"
        raise SchemaRefused(feed.name, f"dataset {declared.route!r}", why) from error


def kept_schemas(store: Store, prefix: str) -> list[DatasetSchema]:
    """Every version of every schema below a directory of the lake."""
    found = []
    for key in store.list_after(prefix):
        raw = store.read(key)
        if raw is not None:
            found.append(_decode(key, raw))
    return found


def _decode(key: str, raw: bytes) -> DatasetSchema:
    try:
        return _decoder.decode(raw)
    except msgspec.MsgspecError as error:
        raise EntryDamaged(key, f"it is no schema: {error}") from error
