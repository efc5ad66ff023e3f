"""The format of the quarantine's files: Parquet in every feed, so that one tool reads them all."""

from penstock.api.file_format import FileFormat
from penstock.datapath.formats.parquet.parquet import FORMAT, load_parts

__all__ = ["QUARANTINE_FORMAT", "load_parts"]

QUARANTINE_FORMAT: FileFormat = FORMAT
