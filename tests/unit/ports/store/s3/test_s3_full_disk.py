"""S1: the disk of an executor is full while a file is spooled. Nothing of the file is ever sent.

Method: the system itself refuses, by a limit of the size of files.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

import pytest

from penstock.errors import StoreUnavailable
from penstock.model.staged import StagingSpot
from penstock.ports.store.s3.s3_settings import MIB
from penstock.ports.store.s3.s3_staged import S3StagedWriter
from penstock.ports.store.s3.s3_uploads import Uploads
from penstock.ports.store.spooled_writer import IN_MEMORY_BYTES

ROOM_BYTES = 4 * IN_MEMORY_BYTES


class Untouched:
    """A bucket that nothing may be sent to."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def begin(self, key: str, _metadata: dict[str, str]) -> str:
        self.asked.append(key)
        return "upload"

    def send_part(self, key: str, _upload: str, _number: int, part: IO[bytes]) -> str:
        self.asked.append(f"{key}: {len(part.read())}")
        return "tag"


@contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def a_writer(bucket: Untouched) -> S3StagedWriter:
    spot = StagingSpot("staging", "0-1", "t0")
    return S3StagedWriter(cast("Uploads", bucket), "lake/a", "lake/a", spot, 5 * MIB)


def write_all(writer: S3StagedWriter, piece_bytes: int) -> None:
    """More than there is room for; the last bytes of small pieces wait for the end."""
    for _ in range(ROOM_BYTES // piece_bytes + 2):
        writer.write(bytes(piece_bytes))
    writer.sync()


@pytest.mark.parametrize("piece_bytes", [1_000, IN_MEMORY_BYTES, ROOM_BYTES + 1])
def test_s1_a_file_for_which_the_disk_has_no_room_is_never_sent(piece_bytes: int) -> None:
    bucket = Untouched()
    writer = a_writer(bucket)
    with files_of_at_most(ROOM_BYTES), pytest.raises(StoreUnavailable, match="File too large"):
        write_all(writer, piece_bytes)
    with pytest.raises(StoreUnavailable, match="an earlier"):
        writer.finish()
    writer.abandon()
    assert bucket.asked == []


def test_s1_once_there_is_room_the_next_attempt_is_whole() -> None:
    bucket = Untouched()
    with files_of_at_most(ROOM_BYTES), pytest.raises(StoreUnavailable):
        a_writer(bucket).write(bytes(2 * ROOM_BYTES))
    writer = a_writer(bucket)
    writer.write(bytes(2 * ROOM_BYTES))
    assert writer.finish().size_bytes == 2 * ROOM_BYTES
    assert bucket.asked == ["lake/a", f"lake/a: {2 * ROOM_BYTES}"]
