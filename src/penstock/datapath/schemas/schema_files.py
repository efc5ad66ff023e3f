"""Schema files that declare the columns of a dataset, in the languages they are written in."""

from typing import assert_never

from penstock.datapath.codec.avro.schema import from_avro
from penstock.datapath.codec.json.schema import from_json_schema
from penstock.model.schema import DatasetSchema
from penstock.model.spec import SchemaKind


def schema_from_file(kind: SchemaKind, text: str, dataset: str) -> DatasetSchema:
    """A declared schema from its file; raises SchemaUnsupported. Driver, at start-up."""
    match kind:
        case "avsc":
            fields = from_avro(text)
        case "jsonschema":
            fields = from_json_schema(text)
        case _ as never:
            assert_never(never)
    return DatasetSchema(dataset, 1, declared=True, fields=fields)
