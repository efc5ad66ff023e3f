"""Shell commands that query the lake with DuckDB, pandas and Spark."""

import glob
import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

DATASET = "order"
_DUCKDB = (
    "import duckdb; print(duckdb.read_parquet({files}, hive_partitioning=True)"
    '.aggregate("day, count(*) AS orders, round(sum(amount), 2) AS total").order("day"))'
)
_PANDAS = (
    "import pandas; print(pandas.read_parquet({folder})"
    '.groupby("day", observed=True)["amount"].agg(["count", "sum"]))'
)
_SPARK = (
    "from pyspark.sql import SparkSession; "
    'SparkSession.builder.config("spark.log.level", "ERROR").getOrCreate()'
    '.read.parquet({folder}).groupBy("day").count().orderBy("day").show()'
)
# DuckDB reads buckets by an extension that it fetches; pyarrow has what it takes.
_DUCKDB_BUCKET = (
    "import duckdb, pyarrow.dataset; "
    'orders = pyarrow.dataset.dataset({folder}, partitioning="hive"); '
    'print(duckdb.sql("SELECT day, count(*) AS orders, round(sum(amount), 2) AS total '
    'FROM orders GROUP BY day ORDER BY day"))'
)
# The readers of HDFS that come with pyarrow and pandas need a Java installation of Hadoop.
_HDFS_FILES = (
    "from hdfs_native.fsspec import HdfsFileSystem; files = HdfsFileSystem({host}, {port}); "
)
_DUCKDB_HDFS = (
    "import duckdb, pyarrow.dataset; "
    + _HDFS_FILES
    + 'orders = pyarrow.dataset.dataset({path}, filesystem=files, partitioning="hive"); '
    'print(duckdb.sql("SELECT day, count(*) AS orders, round(sum(amount), 2) AS total '
    'FROM orders GROUP BY day ORDER BY day"))'
)
_PANDAS_HDFS = (
    "import pandas; " + _HDFS_FILES + "print(pandas.read_parquet({path}, filesystem=files)"
    '.groupby("day", observed=True)["amount"].agg(["count", "sum"]))'
)


def query_lines(feed: Path, dataset: str = DATASET) -> dict[str, str]:
    """A shell command per installed reader, for the current directory."""
    folder = _from_here(feed / dataset)
    codes = {"duckdb": _DUCKDB, "pandas": _PANDAS, "pyspark": _SPARK}
    files = f"{glob.escape(folder)}/*/*.parquet"  # a name may look like a glob pattern
    return _lines(codes, {"folder": _quoted(folder), "files": _quoted(files)})


def bucket_query_lines(feed: str, endpoint: str = "", dataset: str = DATASET) -> dict[str, str]:
    """The same for a lake in a bucket, by the `s3://` address of the feed.

    Readers take keys, region, and an endpoint that is not given, from the environment. Spark needs
    jars that Penstock does not have, so it is not among them.
    """
    parts = urlsplit(endpoint)
    other = f"?scheme={parts.scheme}&endpoint_override={parts.netloc}" if endpoint else ""
    folder = f"{feed}/{dataset}{other}"
    return _lines({"duckdb": _DUCKDB_BUCKET, "pandas": _PANDAS}, {"folder": _quoted(folder)})


def hdfs_query_lines(feed: str, dataset: str = DATASET) -> dict[str, str]:
    """The same for a lake on HDFS, by the `hdfs://` address of the feed."""
    parts = urlsplit(f"{feed}/{dataset}")
    places = {
        "host": _quoted(parts.hostname or ""),
        "port": str(parts.port),
        "path": _quoted(parts.path),
        "folder": _quoted(f"{feed}/{dataset}"),
    }
    codes = {"duckdb": _DUCKDB_HDFS, "pandas": _PANDAS_HDFS, "pyspark": _SPARK}
    return _lines(codes, places)


def _lines(codes: Mapping[str, str], places: Mapping[str, str]) -> dict[str, str]:
    return {
        name: f"{shlex.quote(python_here())} -c {shlex.quote(code.format(**places))}"
        for name, code in codes.items()
        if find_spec(name) is not None
    }


def python_here() -> str:
    """The shortest path of this interpreter from here."""
    if shutil.which("python") == sys.executable:
        return "python"
    return _from_here(sys.executable)


def _from_here(path: Path | str) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _quoted(text: str) -> str:
    """A Python string in double quotes, so that the shell command can be in single quotes."""
    return json.dumps(text, ensure_ascii=False)
