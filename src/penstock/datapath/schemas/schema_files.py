"""Schema files that declare the columns of a dataset, in the languages they are written in."""

from penstock.datapath.codec.avro.schema import from_avro
from penstock.datapath.codec.json.schema import from_json_schema
from penstock.model.schema import DatasetSchema
from penstock.model.spec import SchemaKind


def schema_from_file(kind: SchemaKind, text: str, dataset: str) -> DatasetSchema:
    """A declared schema from its file; raises SchemaUnsupported. Driver, at start-up."""
    fields = from_avro(text) if kind == "avsc" else from_json_schema(text)
    return DatasetSchema(dataset, 1, declared=True, fields=fields)
