"""The one schema of all records of a feed, where the configuration gives one. Driver only."""

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.codecs import codec_of, record_reader
from penstock.datapath.schemas.errors import SchemaRefused
from penstock.datapath.stage.decode_by_schema import ONLY
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import FeedSpec


def fixed_for(feed: FeedSpec) -> RegisteredSchema | None:
    """The schema, ready for executors; raises `SchemaRefused` when it cannot be used."""
    codec = codec_of(feed.decode)
    schemas = codec.schemas_for(feed.decode)
    if schemas is None:
        return None
    try:
        found = schemas.fixed(feed.decode)
    except SchemaUnsupported as error:
        raise _refused(feed, error) from error
    if found is not None:
        reader = record_reader(found, ONLY, codec)
        if isinstance(reader, SchemaUnsupported):
            raise _refused(feed, reader)
    return found


def _refused(feed: FeedSpec, error: SchemaUnsupported) -> SchemaRefused:
    return SchemaRefused(feed.name, "its records", f"at {error.path}, {error.why}")
