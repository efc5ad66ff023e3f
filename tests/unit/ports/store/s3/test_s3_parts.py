"""How files are cut into parts, and which names a bucket gets."""

from threading import Lock
from typing import IO, cast

import pytest

from penstock.errors import BadKey
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.model.window_cost import requests_of
from penstock.ports.store.s3 import s3_staged
from penstock.ports.store.s3.s3_identity import proof_of, tags_in
from penstock.ports.store.s3.s3_keys import Keys
from penstock.ports.store.s3.s3_settings import MIB
from penstock.ports.store.s3.s3_staged import (
    MOST_PARTS,
    PARTS_AT_ONCE,
    S3StagedWriter,
    part_bounds,
    part_bytes,
    staged_name,
)
from penstock.ports.store.s3.s3_uploads import Uploads
from penstock.ports.store.spooled_writer import SpoolPart


@pytest.mark.parametrize("gigabytes", [1, 100, 500, 5_000])
def test_ten_thousand_parts_suffice_for_any_file(gigabytes: int) -> None:
    size_bytes = gigabytes * 2**30 + 1
    length = part_bytes(size_bytes, 16 * MIB)
    assert -(-size_bytes // length) <= MOST_PARTS
    assert length % MIB == 0
    assert length == 16 * MIB or length - MIB < size_bytes / MOST_PARTS


@pytest.mark.parametrize("prefix", ["", "p", "deep/er"])
def test_a_key_goes_to_the_bucket_and_back(prefix: str) -> None:
    keys = Keys(prefix)
    for key in ("a", "a/b", "a/\x01\n\r", "a/\u2426", "a/\u24260001", "a/%2F é"):
        assert keys.relative(keys.whole(key)) == key
    assert not {ord(each) for each in keys.whole("a/\x00".replace("\x00", "\x1f"))} & set(range(32))


def test_keys_of_others_are_no_keys_of_a_lake() -> None:
    keys = Keys("lake")
    for whole in ("lake/a/", "lake//a", "lake/a//b", "lake/", "lake/a/../b", "other/a"):
        assert keys.relative(whole) is None


def test_a_key_that_grows_too_long_by_its_encoding_is_refused() -> None:
    keys = Keys("lake")
    key = "/".join(["\x01" * 100] * 5)
    with pytest.raises(BadKey, match="control characters"):
        keys.whole(key)


def test_uploads_for_one_file_have_different_names() -> None:
    assert staged_name("s", "0-1", "u1") != staged_name("s", "0-1", "u2")
    assert len(staged_name("s", "0-1", "u" * 2000)) < 60


class _KeptParts:
    """Takes parts as a bucket does, and keeps them to be looked at."""

    def __init__(self) -> None:
        self.parts: list[IO[bytes]] = []
        self.received: dict[int, bytes] = {}

    def begin(self, _key: str, _metadata: dict[str, str]) -> str:
        return "upload"

    def send_part(self, _key: str, _upload: str, number: int, part: IO[bytes]) -> str:
        self.parts.append(part)
        self.received[number] = part.read()
        return f"tag {number}"


def test_the_parts_of_a_large_file_hold_no_memory_once_they_are_sent() -> None:
    kept = _KeptParts()
    spot = StagingSpot("staging", "0-1", "t0")
    writer = S3StagedWriter(cast("Uploads", kept), "lake/a", "lake/a", spot, MIB)
    content = bytes(range(256)) * (5 * MIB // 256 + 3)
    writer.write(content)
    handle = writer.finish()
    assert b"".join(kept.received[number] for number in sorted(kept.received)) == content
    assert len(kept.parts) == 6
    assert handle.size_bytes == len(content)
    assert all(part.closed for part in kept.parts)


def test_no_more_parts_have_a_buffer_than_are_sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory for each of 10,000 would be 10 GiB; given back late, it counts as used as well."""
    lock = Lock()
    now: set[int] = set()
    most = 0

    class CountedPart(SpoolPart):
        def __init__(self, descriptor: int, start: int, end: int) -> None:
            nonlocal most
            super().__init__(descriptor, start, end)
            self._number = start
            with lock:
                now.add(start)
                most = max(most, len(now))

        def close(self) -> None:
            with lock:
                now.discard(self._number)
            super().close()

    monkeypatch.setattr(s3_staged, "SpoolPart", CountedPart)
    spot = StagingSpot("staging", "0-1", "t0")
    uploads = cast("Uploads", _KeptParts())
    writer = S3StagedWriter(uploads, "lake/a", "lake/a", spot, MIB)
    writer.write(bytes(20 * MIB))
    assert len(tags_in(writer.finish().proof)) == 20
    assert 0 < most <= PARTS_AT_ONCE
    assert not now


@pytest.mark.parametrize(
    ("size_bytes", "bounds"),
    [(0, [(0, 0)]), (5, [(0, 5)]), (MIB, [(0, MIB)]), (MIB + 1, [(0, MIB), (MIB, MIB + 1)])],
)
def test_parts_follow_each_other(size_bytes: int, bounds: list[tuple[int, int]]) -> None:
    assert part_bounds(size_bytes, MIB) == bounds


def test_a_handle_says_how_many_requests_its_file_needs() -> None:
    """One to begin the upload, one a part, one to complete it: what `penstock cost` counts."""
    for parts in (1, 3):
        proof = proof_of("k", "u", ['"tag"'] * parts)
        handle = StagedHandle("s3", "s", "k", 1, "sha256:0", proof)
        assert requests_of(handle) == 2 + parts
        assert len(tags_in(proof)) == parts
