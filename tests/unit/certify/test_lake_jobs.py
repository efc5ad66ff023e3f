"""The jobs of the certificate, on every store: each writes a configuration that can be read.

The cases themselves need minutes, and real parts; what they would all stumble over is met here.
"""

from argparse import Namespace
from pathlib import Path

import pytest

from penstock.config.load import load
from tests.certify.all_cases import cases_of
from tests.certify.hdfs_cases import first_final
from tests.certify.lake_on_gcs import GcsPlace
from tests.certify.lake_on_hdfs import HdfsJob
from tests.certify.lake_on_s3 import BucketJob, S3Place

S3 = S3Place("lakes/certify", {"endpoint": "http://127.0.0.1:1", "path_style": "true"})
GCS = GcsPlace("lakes/certify", {"endpoint": "http://127.0.0.1:1", "anonymous": "true"})
HDFS = S3Place("127.0.0.1:1/certify")
PROXY = {"s3": "http://127.0.0.1:2", "gs": "http://127.0.0.1:2", "hdfs": "127.0.0.1:2"}


def job_of(scheme: str, directory: Path, endpoint: str) -> BucketJob:
    words = (directory, "127.0.0.1:9092", "topic")
    if scheme == "hdfs":
        return HdfsJob(*words, HDFS.below("case"), 100, endpoint)
    place = (S3 if scheme == "s3" else GCS).below("case")
    job = place.job(*words, 100)
    return type(job)(*words, place, 100, endpoint)  # type: ignore[arg-type]


@pytest.mark.parametrize("scheme", ["s3", "gs", "hdfs"])
@pytest.mark.parametrize("proxied", [False, True])
def test_a_job_writes_a_configuration_of_its_lake(
    tmp_path: Path, scheme: str, proxied: bool
) -> None:
    endpoint = PROXY[scheme] if proxied else ""
    job = job_of(scheme, tmp_path, endpoint)
    spec = load(job.write(), job.environment())
    assert spec.lake.scheme == scheme
    [feed] = spec.feeds
    assert (feed.name, feed.topics) == ("events", ("topic",))
    if scheme == "hdfs":
        authority, _, root = spec.lake.address.partition("/")
        assert authority == (endpoint or "127.0.0.1:1")
        assert root.startswith("certify/case-")
    else:
        assert spec.lake.settings["endpoint"] == (endpoint or "http://127.0.0.1:1")
    assert job.store().uri("a").startswith(f"{scheme}://")


@pytest.mark.parametrize("store", ["local", "s3", "hdfs", "gcs"])
def test_every_store_has_the_cases_that_matter_most_and_none_twice(store: str) -> None:
    cases = cases_of(Namespace(store=store, lake=""))
    names = [case.name for case in cases]
    assert sorted(set(names)) == sorted(names)
    ids = {each for case in cases for each in case.ids}
    assert {"C10", "C12", "C13", "Z1", "Z3", "Z4"} <= ids


def test_the_file_of_a_request_to_rename_is_told_from_where_it_was_staged(tmp_path: Path) -> None:
    job = job_of("hdfs", tmp_path, "")
    assert isinstance(job, HdfsJob)
    source = f"{job.root}/_penstock/events/staging/1-1/t0.staged"
    for final in ("events/a/day=2026-11-18/0_x.parquet", "_penstock/events/quarantine/q.parquet"):
        frame = (
            b"\x0a\x05rename2\x12\x7f"
            + source.encode()
            + b"\x12\x31"
            + (f"{job.root}/{final}".encode() + b"\x18\x00")
        )
        assert first_final(frame, job) == final
