"""What is said of a payload that is not one JSON object."""

import gzip

import pytest

from penstock.datapath.codec.json.payload import fault_of
from penstock.datapath.codec.shared.limits import Limits

FRAMED = "; it begins like a record with a schema id"


@pytest.mark.parametrize(
    ("payload", "reason", "end"),
    [
        (gzip.compress(b'{"id": 1}', mtime=0), "NOT_UTF8", "; it begins like gzip"),
        ('{"id": 1}'.encode("utf-16"), "NOT_UTF8", "; it begins like UTF-16"),
        (b'\x00\x00\x00\x00\x07{"id": 1}', "NOT_JSON", FRAMED),
        (b'\x00\x00\x00\x00\xff{"id": 1}', "NOT_UTF8", FRAMED),
        (b'{"id": "\xff"}', "NOT_UTF8", "invalid start byte (byte 8)"),
        (b'{"id": ', "NOT_JSON", "Input data was truncated"),
    ],
)
def test_the_detail_says_what_a_payload_begins_like(payload: bytes, reason: str, end: str) -> None:
    """Goal: payloads that were compressed or framed by mistake are a group of their own."""
    found = fault_of(payload, Limits())
    assert found is not None
    assert found[0] == reason
    assert found[1].endswith(end)
