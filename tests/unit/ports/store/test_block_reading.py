"""A large object is fetched once, in large ranges, however often and in whatever order it is read.

Method: blocks of 8 bytes, and requests that are counted instead of sent.
"""

import io
import tempfile
from collections import Counter
from typing import NoReturn

import pytest

from penstock.errors import StoreUnavailable
from penstock.ports.store import block_reading
from penstock.ports.store.block_reading import Piece, open_object

CONTENT = bytes(range(256)) * 2
BLOCK = 8


class CountedRequests:
    """Answers for one object, and counts the ranges."""

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()
        self.tag = "one"

    def get_range(self, key: str, start: int, length: int, tag: str | None) -> Piece | None:
        self.asked[start] += 1
        if tag not in (None, self.tag):
            return None
        return Piece(CONTENT[start : start + length], len(CONTENT), self.tag)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> CountedRequests:
    monkeypatch.setattr(block_reading, "BLOCK_BYTES", BLOCK)
    return CountedRequests()


def read_as_an_audit_does(requests: CountedRequests) -> list[bytes]:
    """All of it for the checksum, the end for the footer, then all of it for the rows."""
    with open_object(requests, "a") or io.BytesIO() as file:  # type: ignore[arg-type]
        first = file.read()
        file.seek(-20, io.SEEK_END)
        end = file.read()
        file.seek(0)
        return [first, end, b"".join(iter(lambda: file.read(100), b""))]


def test_no_range_is_asked_for_twice(requests: CountedRequests) -> None:
    assert read_as_an_audit_does(requests) == [CONTENT, CONTENT[-20:], CONTENT]
    assert requests.asked == dict.fromkeys(range(0, len(CONTENT), BLOCK), 1)


def test_without_room_on_the_disk_ranges_are_fetched_again(
    requests: CountedRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert read_as_an_audit_does(requests) == [CONTENT, CONTENT[-20:], CONTENT]
    assert max(requests.asked.values()) == 2


def test_an_object_that_was_replaced_meanwhile_is_not_mixed(requests: CountedRequests) -> None:
    file = open_object(requests, "a")  # type: ignore[arg-type]
    assert file is not None
    requests.tag = "two"
    with pytest.raises(StoreUnavailable, match="replaced"):
        file.read()
