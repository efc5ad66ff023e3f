"""One real HDFS for all tests of a process that ask for it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from penstock.config import places
from penstock.spark.jars import HDFS, fetch, jar_paths
from penstock.spark.java import find_java
from penstock.testing.hdfs_server import EmbeddedHdfs


@contextmanager
def running_hdfs(
    directory: Path, settings: Mapping[str, str] | None = None, *, quick: bool = True
) -> Iterator[EmbeddedHdfs]:
    """A name node and data nodes; their jars are fetched when they are first needed."""
    cache, home = places.jar_cache(), places.java_home()
    fetch([HDFS], cache, java_home=home, java_options=places.java_network_options())
    jars = jar_paths(HDFS, cache)
    with EmbeddedHdfs(directory, jars, find_java(home).path, settings, quick=quick) as server:
        yield server
