"""Schema files that declare the columns of a dataset, in the languages they are written in."""

from penstock.api.doors import CODECS
from penstock.api.find import load
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.codecs import BUILT_IN
from penstock.model.schema import DatasetSchema
from penstock.model.spec import SchemaKind

_CODECS: dict[SchemaKind, str] = {"avsc": "avro", "jsonschema": "json"}


def schema_from_file(kind: SchemaKind, text: str, dataset: str) -> DatasetSchema:
    """A declared schema from its file; raises SchemaUnsupported. Driver, at start-up."""
    codec = load(CODECS, BUILT_IN[_CODECS[kind]])
    if codec.dataset_fields is None:
        raise SchemaUnsupported("$", f"a file of {codec.name} does not declare columns")
    return DatasetSchema(dataset, 1, declared=True, fields=codec.dataset_fields(text))
