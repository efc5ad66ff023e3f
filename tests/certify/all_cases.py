"""Every case of the certificate, in the order of the table."""

from argparse import Namespace

from tests.certify import (
    clock_cases,
    compaction_cases,
    crash_cases,
    disk_cases,
    executor_cases,
    gcs_cases,
    hdfs_cases,
    host_cases,
    kafka_cases,
    owner_cases,
    s3_cases,
    site_cases,
)
from tests.certify.case import Case, not_shown

NOT_SHOWN = {
    "C18": "sealing is off in these runs; the simulator dies at every request of it",
}


def cases_of(chosen: Namespace) -> list[Case]:
    """Those of the store that is asked for."""
    if chosen.lake:
        return [*s3_cases.own_bucket_cases()]
    match chosen.store:
        case "s3":
            return [*s3_cases.cases(), *compaction_cases.s3_cases()]
        case "hdfs":
            return [*hdfs_cases.cases(), *site_cases.cases(), *host_cases.hdfs_cases()]
        case "gcs":
            return [*gcs_cases.cases()]
        case _:
            return all_cases()


def all_cases() -> list[Case]:
    """All of them; names are told once each."""
    return [
        *crash_cases.cases(),
        *(not_shown(each, why) for each, why in NOT_SHOWN.items()),
        *compaction_cases.cases(),
        *owner_cases.cases(),
        *clock_cases.cases(),
        *executor_cases.cases(),
        *host_cases.cases(),
        *kafka_cases.cases(),
        *disk_cases.cases(),
    ]
