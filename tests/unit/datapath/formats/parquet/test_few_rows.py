"""Files of few rows: every value comes back, and small columns have no compressor."""

import io

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.api.file_format import WriteOptions
from penstock.datapath.formats.parquet.column_encodings import encodings_of
from penstock.datapath.formats.parquet.parquet_writer import ParquetWriter

ROWS = pa.table(
    {
        "n": [1, None, 3],
        "text": ["x" * 400, "y" * 400, None],
        "inside": [{"a": 1, "words": ["p", "q"]}, None, {"a": None, "words": []}],
        "kind": pa.array(["u", "v", "u"]).dictionary_encode(),
    }
)


def written(*parts: pa.Table, advice: object = None) -> pq.ParquetFile:
    stream = io.BytesIO()
    writer = ParquetWriter(stream, ROWS.schema, WriteOptions("zstd", {"about": "it"}, advice))
    for part in parts:
        writer.write(part)
    writer.finish()
    return pq.ParquetFile(io.BytesIO(stream.getvalue()))


def compressions(file: pq.ParquetFile) -> dict[str, str]:
    group = file.metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    return {column.path_in_schema: column.compression for column in columns}


def test_few_rows_come_back_and_only_large_columns_are_compressed() -> None:
    file = written(ROWS)
    assert file.read().to_pylist() == ROWS.to_pylist()
    assert compressions(file) == {
        "n": "UNCOMPRESSED",
        "text": "ZSTD",
        "inside.a": "UNCOMPRESSED",
        "inside.words.list.element": "UNCOMPRESSED",
        "kind": "UNCOMPRESSED",
    }
    assert file.metadata.metadata[b"about"] == b"it"


def test_many_rows_and_rows_with_advice_are_written_as_before() -> None:
    many = pa.concat_tables([ROWS] * 200).combine_chunks()
    assert set(compressions(written(many)).values()) == {"ZSTD"}
    advice = encodings_of(many.to_batches()[0], "zstd")
    assert advice is not None
    assert isinstance(advice.compression, dict)
    assert compressions(written(ROWS, advice=advice)) == {
        path: word.upper().replace("NONE", "UNCOMPRESSED")
        for path, word in advice.compression.items()
    }


def test_a_file_without_rows_and_one_that_begins_small_are_whole() -> None:
    assert written().read().num_rows == 0
    many = pa.concat_tables([ROWS] * 200)
    assert written(ROWS, many).read().to_pylist() == ROWS.to_pylist() * 201
