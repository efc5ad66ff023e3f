"""A feed whose lake lies on GCS, and a copy of the lake to read, by plain requests of its API."""

import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from penstock.testing.proxy.proxy_rules import GCS_FORBIDDEN, GCS_UNAUTHORIZED
from tests.certify.lake_on_s3 import BucketJob, BucketWords
from tests.helpers.gcs_asking import GcsAsking

STAGED = "*/_penstock/events/staging/*"
GCS_WORDS = BucketWords(
    "objects.insert",
    "objects.insert",
    "objects.rewrite",
    "objects.delete",
    "objects.get",
    STAGED,
    GCS_FORBIDDEN,
    GCS_UNAUTHORIZED,
)


@dataclass(frozen=True)
class GcsPlace:
    """Where the lakes of all cases lie."""

    address: str
    settings: Mapping[str, str] = field(default_factory=dict)
    words: ClassVar[BucketWords] = GCS_WORDS

    def below(self, name: str) -> "GcsPlace":
        """A place of its own for one case; nothing was ever there."""
        return replace(self, address=f"{self.address}/{name}-{secrets.token_hex(4)}")

    def job(self, directory: Path, bootstrap: str, topic: str, max_records: int) -> "GcsJob":
        """A feed here."""
        return GcsJob(directory, bootstrap, topic, self, max_records)

    def ask(self) -> GcsAsking:
        """A client that is not ours."""
        return GcsAsking(self.settings["endpoint"], self.address.partition("/")[0])


@dataclass(frozen=True)
class GcsJob(BucketJob):
    """A feed in a lake on GCS."""

    place: GcsPlace
    scheme: ClassVar[str] = "gs"

    def objects(self) -> dict[str, tuple[str, int]]:
        """All of them with their generations."""
        prefix = f"{self.place.address.partition('/')[2]}/"
        found: dict[str, tuple[str, int]] = {}
        token = ""
        while True:
            page = self.place.ask().page(prefix=prefix, pageToken=token).json()
            for each in page.get("items", []):
                key = each["name"].removeprefix(prefix)
                found[key] = (each["generation"], int(each["size"]))
            token = page.get("nextPageToken", "")
            if not token:
                return found

    def uploads(self) -> list[tuple[str, str]]:
        """Staged objects and their generations."""
        return [
            (key, generation)
            for key, (generation, _) in self.objects().items()
            if key.endswith(".staged")
        ]

    def abort_uploads(self) -> int:
        """What a lifecycle rule does."""
        prefix = self.place.address.partition("/")[2]
        staged = self.uploads()
        for key, _ in staged:
            assert self.place.ask().delete(f"{prefix}/{key}").status_code == 204
        return len(staged)

    def mirror(self) -> Path:
        """Every object as a file."""
        prefix = self.place.address.partition("/")[2]
        copy = Path(tempfile.mkdtemp(prefix="mirror-", dir=self.directory))
        ask = self.place.ask()
        for key in self.objects():
            (copy / key).parent.mkdir(parents=True, exist_ok=True)
            (copy / key).write_bytes(ask.read(f"{prefix}/{key}").content)
        return copy
