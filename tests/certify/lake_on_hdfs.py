"""A feed whose lake lies on HDFS: its configuration, its process, and a copy of the lake to read.

The oracle walks directories. So every file is fetched by the client library alone into a new
directory, which is then a lake like any other, for reading.
"""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hdfs_native import Client, FileStatus

from penstock.api.doors import STORES
from penstock.api.find import offer
from penstock.api.store import Store
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.hdfs.hdfs_store import HdfsStore
from tests.certify.lake_on_s3 import CONFIG, LakeJob
from tests.integration.processes import search_path


@dataclass(frozen=True)
class HdfsJob(LakeJob):
    """A feed in a lake on HDFS. `endpoint` is host and port of a relay, if there is one between."""

    scheme: ClassVar[str] = "hdfs"

    @property
    def root(self) -> str:
        """The path of the lake."""
        return f"/{self.place.address.partition('/')[2]}"

    def store(self) -> Store:
        """The store without a relay, for this process."""
        return HdfsStore(StoreSpec("hdfs", self.place.address, offer(STORES, "hdfs"), {}))

    def write(self) -> Path:
        """Write the configuration."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / "penstock.yaml"
        authority = self.endpoint or self.place.address.partition("/")[0]
        path.write_text(
            CONFIG.format(
                scheme=self.scheme,
                address=f"{authority}{self.root}",
                settings="",
                bootstrap=self.bootstrap,
                topic=self.topic,
                max_records=self.max_records,
            )
        )
        return path

    def environment(self) -> dict[str, str]:
        """That of this process."""
        return {**os.environ, "PYTHONPATH": search_path()}

    def objects(self) -> dict[str, tuple[str, int]]:
        """Every file with its time and size, as the client library lists it."""
        return {
            each.path.removeprefix(f"{self.root}/"): (str(each.modification_time), each.length)
            for each in self._files()
        }

    def uploads(self) -> list[tuple[str, str]]:
        """Staged files, each with nothing more to say about it."""
        return [(key, "") for key in self.objects() if "/staging/" in key]

    def abort_uploads(self) -> int:
        """Delete all that is staged, as somebody might; how many files there were."""
        found = self.uploads()
        for key, _ in found:
            self._client().delete(f"{self.root}/{key}")
        return len(found)

    def mirror(self) -> Path:
        """A copy of the lake in a new directory."""
        copy = Path(tempfile.mkdtemp(prefix="mirror-", dir=self.directory))
        client = self._client()
        for key in self.objects():
            (copy / key).parent.mkdir(parents=True, exist_ok=True)
            (copy / key).write_bytes(client.read(f"{self.root}/{key}").readall())
        return copy

    def _files(self) -> list[FileStatus]:
        try:
            found = list(self._client().list_status(self.root, recursive=True))
        except FileNotFoundError:
            return []
        return [each for each in found if not each.isdir]

    def _client(self) -> Client:
        return Client(f"hdfs://{self.place.address.partition('/')[0]}")
