"""A file of the lake by whatever name another program gives it."""

from pathlib import Path

import pytest

from penstock.config.location import key_in, location
from penstock.config.mistakes import Refused

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


@pytest.mark.parametrize("word", ["s3:/bucket/lake", "S3:/bucket", "gs:/bucket/lake"])
def test_an_address_with_one_slash_is_not_taken_for_a_directory(word: str) -> None:
    with pytest.raises(Refused) as caught:
        location(word, Path("/data"))
    assert word.partition("/")[0] + "//" in caught.value.allowed


def test_a_directory_may_have_a_colon_in_its_name() -> None:
    assert location("lake:2026/shop", Path("/data")).address == "/data/lake:2026/shop"
