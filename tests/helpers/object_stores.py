"""One object store for all tests of a process that ask for it: a real one, or the double of GCS."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.config import places
from penstock.spark.jars import STORAGE, fetch, jar_paths
from penstock.spark.java import find_java
from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from penstock.testing.object_store_server import EmbeddedObjectStore

BUCKET = "lakes"


@contextmanager
def running_object_store(directory: Path, *, keeps: bool = False) -> Iterator[EmbeddedObjectStore]:
    """An object store with a bucket. `make setup` has fetched it; an emptied cache is filled."""
    cache, home = places.jar_cache(), places.java_home()
    fetch([STORAGE], cache, java_home=home, java_options=places.java_network_options())
    [jar] = jar_paths(STORAGE, cache)
    with EmbeddedObjectStore(directory, jar, find_java(home).path, keeps=keeps) as server:
        server.make_bucket(BUCKET)
        yield server


@contextmanager
def running_gcs(directory: Path) -> Iterator[EmbeddedGcs]:
    """The double of GCS with a bucket."""
    with EmbeddedGcs(directory) as server:
        server.make_bucket(BUCKET)
        yield server
