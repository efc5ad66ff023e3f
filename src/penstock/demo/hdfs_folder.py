"""A directory of HDFS as pyarrow reads it through fsspec. Imported only where there is one."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from hdfs_native import Client
from hdfs_native.fsspec import BaseFileSystem, HdfsFileSystem
from pyarrow.fs import FSSpecHandler, PyFileSystem

from penstock.demo.errors import DemoRefused
from penstock.demo.folders import Folder


class SiteFileSystem(HdfsFileSystem):
    """The file system of a client that knows the site: its files, and who logs in."""

    cachable = False

    def __init__(self, client: Client) -> None:
        super(BaseFileSystem, self).__init__()
        self.host, self.port, self.client = None, None, client


def hdfs_folder(uri: str, settings: Mapping[str, str]) -> Folder:
    """A directory, by its `hdfs://` address and the settings of its store."""
    parts = urlsplit(uri)
    client = _client(f"hdfs://{parts.netloc}", settings)
    return Folder(PyFileSystem(FSSpecHandler(SiteFileSystem(client))), parts.path)


def _client(url: str, settings: Mapping[str, str]) -> Client:
    """The library's own, as its users make it. It asks nobody yet."""
    principal, keytab = settings.get("principal"), settings.get("keytab")
    if keytab and not principal:
        raise DemoRefused(
            "The demo counts with a client of its own, which does not look into a keytab.",
            "Nothing was started. Name whom it logs in as, too: --store principal=...",
        )
    words: dict[str, str] = {}
    if principal:
        words["hadoop.security.authentication"] = "kerberos"
    if protection := settings.get("data_protection"):
        words["dfs.data.transfer.protection"] = protection
    return Client(
        url,
        words,
        settings.get("config_dir"),
        kerberos_principal=principal,
        kerberos_keytab=keytab,
    )
