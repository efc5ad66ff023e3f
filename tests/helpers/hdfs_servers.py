"""One real HDFS for all tests of a process that ask for it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from penstock.config import places
from penstock.spark.jars import HDFS, fetch, jar_paths
from penstock.spark.java import find_java
from penstock.testing.hdfs_server import EmbeddedHdfs
from penstock.testing.kerberos_realm import KerberosRealm
from penstock.testing.secured_hdfs import PROTECTION, secured_hdfs


def hdfs_parts() -> tuple[list[Path], Path]:
    """The jars of Hadoop, which are fetched when they are first needed, and Java."""
    cache, home = places.jar_cache(), places.java_home()
    fetch([HDFS], cache, java_home=home, java_options=places.java_network_options())
    return jar_paths(HDFS, cache), find_java(home).path


@contextmanager
def running_hdfs(
    directory: Path, settings: Mapping[str, str] | None = None, *, quick: bool = True
) -> Iterator[EmbeddedHdfs]:
    """A name node and data nodes."""
    with EmbeddedHdfs(directory, *hdfs_parts(), settings, quick=quick) as server:
        yield server


@contextmanager
def running_secured_hdfs(
    directory: Path, realm: KerberosRealm, protection: str = PROTECTION
) -> Iterator[EmbeddedHdfs]:
    """The same, with security on."""
    with secured_hdfs(directory, realm, *hdfs_parts(), protection) as server:
        yield server
