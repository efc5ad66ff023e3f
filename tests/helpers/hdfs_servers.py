"""One real HDFS for all tests of a process that ask for it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from penstock.config import places
from penstock.spark.jars import HDFS, fetch, jar_paths
from penstock.spark.java import find_java
from penstock.testing.hadoop_programs import write_xml
from penstock.testing.hdfs_server import EmbeddedHdfs
from penstock.testing.kerberos_realm import KerberosRealm
from penstock.testing.secured_hdfs import PROTECTION, secured_hdfs
from penstock.testing.servers import LOOPBACK

PROVIDER = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"


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


def site_of(
    server: EmbeddedHdfs, service: str, directory: Path, *, first_is_down: bool = False
) -> Path:
    """A `HADOOP_CONF_DIR` with a name service of two name nodes, of which one is not there."""
    nobody = f"{LOOPBACK}:1"
    first, second = (nobody, server.authority) if first_is_down else (server.authority, nobody)
    site = {
        "dfs.nameservices": service,
        f"dfs.ha.namenodes.{service}": "nn1,nn2",
        f"dfs.namenode.rpc-address.{service}.nn1": first,
        f"dfs.namenode.rpc-address.{service}.nn2": second,
        f"dfs.client.failover.proxy.provider.{service}": PROVIDER,
    }
    directory.mkdir(parents=True, exist_ok=True)
    write_xml(directory / "hdfs-site.xml", site)
    return directory
