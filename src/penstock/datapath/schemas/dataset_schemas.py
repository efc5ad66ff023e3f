"""The schemas of a feed's datasets: kept in the lake, numbered, learned when a new type comes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from penstock.api.codec import JsonRecords, RecordReader
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.api.store import Store
from penstock.datapath.codec.codecs import codec_of, record_reader
from penstock.datapath.codec.json.decoder import json_decoder
from penstock.datapath.schemas.errors import SchemaRefused
from penstock.datapath.schemas.file_schemas import FileSchemas
from penstock.datapath.schemas.growth import possible_growth
from penstock.datapath.schemas.redeclared import redeclared
from penstock.datapath.schemas.schema_files import schema_from_file
from penstock.datapath.schemas.schema_objects import (
    newest,
    schema_version,
    store_schema,
    stored_schemas,
)
from penstock.datapath.schemas.settled import settled_fields
from penstock.datapath.schemas.without_column import paths_beyond, with_causes
from penstock.datapath.stage.decode_by_schema import covers
from penstock.datapath.stage.shred_plan import Samples, Unlearned
from penstock.model.encryption_keys import Keys
from penstock.model.layout import Layout
from penstock.model.names import encode_component
from penstock.model.pinned_types import feed_types
from penstock.model.read_ways import ReadWays
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import DatasetSchema, Field
from penstock.model.schema_merging import Incompatible, first_version, merged
from penstock.model.spec import DatasetSpec, FeedSpec


@dataclass(frozen=True, slots=True)
class SchemasInUse:
    """The schemas that records are read with; and those of files, where records are converted."""

    read: dict[str, DatasetSchema]
    files: dict[str, DatasetSchema]


class DatasetSchemas:
    """What is known of every dataset, newest version. Driver only.

    A schema object is created once under its number and never changed; two owners that learn the
    same type at once end up with the one that was first. `known` says how records are read. Where
    they are converted that lies apart, and `file_schemas` knows what files have.
    """

    def __init__(
        self, store: Store, layout: Layout, feed: FeedSpec, keys: Keys | None = None
    ) -> None:
        self._store = store
        self._layout = layout
        self._codec = codec_of(feed.decode)
        self._types = feed_types(feed)
        self._decoder = json_decoder(self._codec.json or JsonRecords(), self._types)
        in_files = newest(stored_schemas(store, layout.schemas))
        read = newest(stored_schemas(store, layout.reading))
        self.file_schemas = FileSchemas(
            store, layout, feed, keys or Keys(), in_files, frozenset(read)
        )
        self.known: dict[str, DatasetSchema] = in_files | read
        self._impossible: dict[str, frozenset[str]] = {}  # paths, by dataset
        self._begin_converting(frozenset(read))
        self._declare(feed)
        self._settle(feed.name)

    def newest(self) -> SchemasInUse:
        """What records are read and files are written with now."""
        return SchemasInUse(dict(self.known), dict(self.file_schemas.known))

    def recorded(self, in_files: Mapping[str, int], read: Mapping[str, int]) -> SchemasInUse:
        """The versions that an entry records; the newest for datasets that it has no file of.

        A dataset without a version in `read` was not converted then.
        """
        found = self.newest()
        for dataset, version in in_files.items():
            files = schema_version(self._store, self._layout.schemas, dataset, version)
            if dataset in read:
                found.files[dataset] = files
                found.read[dataset] = schema_version(
                    self._store, self._layout.reading, dataset, read[dataset]
                )
            else:
                found.files.pop(dataset, None)
                found.read[dataset] = files
        return found

    def learn(self, samples: list[Samples]) -> bool:
        """Take up new datasets and new fields; True when their records have to be read again."""
        found_new = False
        is_first = not self.known
        for dataset in sorted({each.dataset for each in samples}):
            mine = [each for each in samples if each.dataset == dataset]
            payloads = [payload for each in mine for payload in each.payloads]
            known = self.known.get(dataset)
            if known is None:
                self._keep(self._begun(self._decoder.infer(payloads, dataset), is_first=is_first))
                found_new = True
            elif not known.declared:
                grown = self._decoder.promote(known, payloads)
                promoted = self._possible(known, grown)
                self._impossible[dataset] = paths_beyond(grown.fields, promoted.fields)
                if promoted != known:
                    found_new |= self.file_schemas.shows_hidden(known, promoted)
                    self._keep(promoted)
        return found_new

    def with_causes(self, ways: Iterable[ReadWays]) -> tuple[ReadWays, ...]:
        """How records were read, with the reasons why fields of them were not learned just now."""
        return tuple(
            with_causes(
                each,
                self.known[each.dataset],
                self._types.of(each.dataset),
                self._impossible.get(each.dataset, frozenset()),
            )
            if each.dataset in self.known
            else each
            for each in ways
        )

    def learn_named(
        self, unlearned: Iterable[Unlearned], named: Mapping[str, RegisteredSchema | None]
    ) -> bool:
        """Let datasets cover the schemas that their records were written with; True if one grew."""
        grown = False
        for each in unlearned:
            schema = named.get(each.key)
            reader = None if schema is None else record_reader(schema, each.message, self._codec)
            if not isinstance(reader, RecordReader):
                continue
            if covers(self.known.get(each.dataset), reader.fields) is False:
                grown |= self._grow(each.dataset, reader.fields)
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

    def _begun(self, inferred: DatasetSchema, *, is_first: bool) -> DatasetSchema:
        """A new dataset's schema, as far as steps can be done for it.

        The first records that a feed ever meets are those that its steps were written for: there
        an impossible one is a mistake of the configuration, and is refused.
        """
        nothing = msgspec.structs.replace(inferred, fields=())
        return inferred if is_first else self._possible(nothing, inferred)

    def _possible(self, known: DatasetSchema, grown: DatasetSchema) -> DatasetSchema:
        """A schema that has grown, without the fields that would make a step impossible.

        A producer could stop the feed with one such field. It stays in `_rest`, and
        asks for nothing: the next window that has it is not read again either.
        """
        if grown == known or known.dataset not in self.file_schemas:
            return grown
        fields = possible_growth(
            known.fields,
            grown.fields,
            lambda each: self.file_schemas.are_possible(
                msgspec.structs.replace(known, fields=each)
            ),
        )
        if fields == known.fields:
            return known
        return msgspec.structs.replace(grown, fields=fields)

    def _begin_converting(self, read: frozenset[str]) -> None:
        """Until a dataset is converted, its records are read as its files say."""
        for dataset, schema in sorted(self.known.items()):
            if dataset in read:
                self.file_schemas.pin(schema)
            elif dataset in self.file_schemas:
                self._keep(schema)

    def _declare(self, feed: FeedSpec) -> None:
        """Declared schemas come from the configuration; a change of the file is a new version.

        Raises `SchemaRefused` when columns that exist would be of another type.
        """
        for declared in feed.datasets:
            if declared.schema_kind is None:
                continue
            dataset = encode_component(declared.route)
            wanted = declared_schema(feed, declared)
            known = self.known.get(dataset)
            if known is None:
                self._keep(wanted)
                continue
            try:
                fields = redeclared(known.fields, wanted.fields)
            except Incompatible as error:
                raise SchemaRefused(
                    feed.name, f"dataset {declared.route!r}", _changed(error)
                ) from error
            if (known.fields, known.declared) != (fields, True):
                number = known.version + 1
                self._keep(msgspec.structs.replace(wanted, version=number, fields=fields))

    def _settle(self, feed: str) -> None:
        """Let columns take the types that the configuration settles, if they have the right kind.

        Raises `SchemaRefused` when a column that exists would be of another type.
        """
        for known in sorted(self.known.values(), key=lambda each: each.dataset):
            is_converted = known.dataset in self.file_schemas
            hold = self.file_schemas.hold if is_converted else None
            fields = settled_fields(feed, known, self._types, hold)
            if fields != known.fields:
                number = known.version + 1
                self._keep(msgspec.structs.replace(known, version=number, fields=fields))

    def _keep(self, schema: DatasetSchema) -> None:
        is_apart = schema.dataset in self.file_schemas
        if is_apart:
            self.file_schemas.check(schema)  # before it is kept: what is kept cannot be taken back
        prefix = self._layout.reading if is_apart else self._layout.schemas
        self.known[schema.dataset] = store_schema(self._store, prefix, schema)
        if is_apart:
            self.file_schemas.pin(self.known[schema.dataset])


def _changed(error: Incompatible) -> str:
    return (
        f"{error}, while the dataset has files with a column of the type before, and columns keep "
        "theirs for ever. Restore the file, or give the field of the other type another name; or "
        "read the topics with a feed of another name, which begins with this schema"
    )


def declared_schema(feed: FeedSpec, declared: DatasetSpec) -> DatasetSchema:
    """The schema of a dataset's file; raises `SchemaRefused` when it cannot be used."""
    kind, dataset = declared.schema_kind or "avsc", encode_component(declared.route)
    try:
        return schema_from_file(kind, declared.schema_text, dataset)
    except SchemaUnsupported as error:
        why = f"at {error.path}, {error.why}"
        raise SchemaRefused(feed.name, f"dataset {declared.route!r}", why) from error
