"""A directory of HDFS as pyarrow reads it through fsspec. Imported only where there is one."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from hdfs_native.fsspec import HdfsFileSystem
from pyarrow.fs import FSSpecHandler, PyFileSystem

from penstock.demo.folders import Folder


def hdfs_folder(uri: str, _settings: Mapping[str, str]) -> Folder:
    """A directory, by its `hdfs://` address; the files of a site are found by the environment."""
    parts = urlsplit(uri)
    files = HdfsFileSystem(parts.hostname, parts.port, skip_instance_cache=True)
    return Folder(PyFileSystem(FSSpecHandler(files)), parts.path)
