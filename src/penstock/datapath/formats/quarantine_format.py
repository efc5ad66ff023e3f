"""The format of the quarantine's files: Parquet in every feed, so that one tool reads them all."""

from penstock.api.file_format import FileFormat
from penstock.datapath.formats.parquet.parquet import FORMAT

QUARANTINE_FORMAT: FileFormat = FORMAT
