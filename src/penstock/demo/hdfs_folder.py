"""A directory of HDFS as pyarrow reads it through fsspec. Imported only where there is one."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from hdfs_native import Client
from hdfs_native.fsspec import BaseFileSystem, HdfsFileSystem
from pyarrow.fs import FSSpecHandler, PyFileSystem

from penstock.api.doors import STORES
from penstock.api.find import offer
from penstock.demo.folders import Folder
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.hdfs.hdfs_clients import make_client
from penstock.ports.store.hdfs.hdfs_settings import read_settings


class SiteFileSystem(HdfsFileSystem):
    """The file system of a client that knows the site: its files, and who logs in."""

    cachable = False

    def __init__(self, client: Client) -> None:
        super(BaseFileSystem, self).__init__()
        self.host, self.port, self.client = None, None, client


def hdfs_folder(uri: str, settings: Mapping[str, str]) -> Folder:
    """A directory, by its `hdfs://` address and the settings of its store."""
    parts = urlsplit(uri)
    spec = StoreSpec("hdfs", f"{parts.netloc}{parts.path}", offer(STORES, "hdfs"), settings)
    files = SiteFileSystem(make_client(read_settings(spec)))
    return Folder(PyFileSystem(FSSpecHandler(files)), parts.path)
