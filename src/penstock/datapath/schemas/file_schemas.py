"""What files of a dataset have, where its records are converted. Driver only.

There are two numbered series of schemas then. `schemas` is what files have, as for any dataset, and
`reading` how records are read. Each version of what files have holds all columns of those before
it, so all files stay one table, whatever becomes of the steps.

    a dataset is new               how it is read is kept first, then what its files have: a crash
                                   in between leaves the first, and the second is made of it
    its first step is added        it is read from now on as its files were; the columns that the
                                   steps make join those that files have
    a step changes                 as above; what cannot be joined is refused record by record
    its last step is taken away    nothing is converted, and the two series stay
"""

from penstock.api.store import Store
from penstock.datapath.schemas.errors import ConvertRefused
from penstock.datapath.schemas.schema_objects import store_schema
from penstock.datapath.shape.convert.converters import converted_fields, fitting
from penstock.datapath.shape.convert.flow import ConvertImpossible, has_field
from penstock.datapath.shape.convert.plugins import look_for
from penstock.datapath.shape.convert.rest_column import hidden_paths
from penstock.datapath.shape.route.placing import check_places
from penstock.model.convert_spec import steps_for
from penstock.model.encryption_keys import Keys
from penstock.model.layout import Layout
from penstock.model.schema import DatasetSchema, Field
from penstock.model.schema_merging import Incompatible, first_version, merged
from penstock.model.spec import FeedSpec

TRIES = 10  # each lost to another process that added columns at the same moment


class FileSchemas:
    """The newest schema of the files of every dataset that is converted, or once was."""

    def __init__(
        self,
        store: Store,
        layout: Layout,
        feed: FeedSpec,
        keys: Keys,
        in_files: dict[str, DatasetSchema],
        read: frozenset[str],
    ) -> None:
        self._store = store
        self._prefix = layout.schemas
        self._feed = feed
        self._keys = keys
        self._in_files = dict(in_files)
        self._read = read
        self.known: dict[str, DatasetSchema] = {}
        check_plugins(feed)

    def __contains__(self, dataset: str) -> bool:
        return dataset in self._read or bool(steps_for(self._feed.convert, dataset))

    def shows_hidden(self, known: DatasetSchema, grown: DatasetSchema) -> bool:
        """True when a field gets its first column that a step has to hide.

        Records that have it could not be converted without one.
        """
        steps = steps_for(self._feed.convert, known.dataset)
        return any(
            has_field(grown.fields, names) and not has_field(known.fields, names)
            for names in hidden_paths(steps)
        )

    def check(self, schema: DatasetSchema) -> None:
        """Raise `ConvertRefused` when a step cannot be done for records that are read so."""
        pinned = self._in_files.get(schema.dataset)
        output_fields(self._feed, schema, self._keys, () if pinned is None else pinned.fields)

    def hold(self, schema: DatasetSchema) -> None:
        """Raise `Incompatible` when records that are read so would need other columns in files."""
        pinned = self._in_files.get(schema.dataset)
        check_files(self._feed, schema, self._keys, () if pinned is None else pinned.fields)

    def are_possible(self, schema: DatasetSchema) -> bool:
        """True when all steps can be done for records that are read so."""
        try:
            self.check(schema)
        except ConvertRefused:
            return False
        return True

    def pin(self, schema: DatasetSchema) -> None:
        """Let the files of a dataset have what becomes of records that are read so.

        Where that is impossible, they keep what they have, and tasks refuse the records.
        """
        pinned = self._in_files.get(schema.dataset)
        for _ in range(TRIES):
            before = () if pinned is None else pinned.fields
            fields = output_fields(self._feed, schema, self._keys, before)
            try:
                wanted = first_version(fields) if pinned is None else merged(pinned.fields, fields)
            except Incompatible:
                break
            if pinned is not None and wanted == pinned.fields:
                break
            number = 1 if pinned is None else pinned.version + 1
            mine = DatasetSchema(schema.dataset, number, schema.declared, wanted)
            pinned = store_schema(self._store, self._prefix, mine)
        if pinned is not None:
            self._in_files[schema.dataset] = self.known[schema.dataset] = pinned


def output_fields(
    feed: FeedSpec, schema: DatasetSchema, keys: Keys, in_files: tuple[Field, ...] = ()
) -> tuple[Field, ...]:
    """What becomes of the fields of a dataset; raises `ConvertRefused`."""
    steps = steps_for(feed.convert, schema.dataset)
    given = fitting(steps, schema.fields, keys, in_files)
    try:
        return converted_fields(steps, schema.fields, given)
    except ConvertImpossible as error:
        raise ConvertRefused(feed.name, f"dataset {schema.dataset!r}", str(error)) from error


def check_files(
    feed: FeedSpec, schema: DatasetSchema, keys: Keys, in_files: tuple[Field, ...]
) -> None:
    """Raise `Incompatible` when what becomes of records has another type than columns of files.

    Raises `ConvertRefused` when a step cannot be done.
    """
    merged(in_files, output_fields(feed, schema, keys, in_files))


def check_plugins(feed: FeedSpec) -> None:
    """Raise a `PluginError` for a plug-in that cannot be had: of a step, a route or the like."""
    check_places(feed)
    for spec in feed.convert:
        if spec.verb == "plugin":
            look_for(spec)
