"""A file of the lake by whatever name another program gives it."""

from pathlib import Path

import pytest

from penstock.config.location import key_in, location

KEY = "events/click/day=2026-11-09/a b.parquet"


@pytest.mark.parametrize(
    ("word", "key"),
    [
        (KEY, KEY),
        (f"s3://bucket/lake/{KEY}", KEY),
        (f"s3a://bucket/lake/{KEY}", KEY),
        (f"s3n://bucket/lake/{KEY}", KEY),
        (f"s3a://other/lake/{KEY}", f"s3a://other/lake/{KEY}"),
        (f"gs://bucket/lake/{KEY}", f"gs://bucket/lake/{KEY}"),
    ],
)
def test_a_file_in_a_bucket_is_known_by_its_addresses(word: str, key: str) -> None:
    assert key_in(location("s3://bucket/lake/", Path("/")), word) == key
