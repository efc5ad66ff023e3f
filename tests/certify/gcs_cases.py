"""kill -9 at single requests, owners that wake too late, and the faults of a store: on GCS.

The double of it stands behind the proxy; what is done at each request is as in `s3_cases.py`.
"""

from collections.abc import Callable, Iterator
from functools import partial

from penstock.testing.proxy.proxy_rules import (
    GCS_BACKEND_ERROR,
    GCS_RATE_LIMIT,
    Answer,
    DropReply,
    Rule,
)
from tests.certify.case import Case, not_shown
from tests.certify.lake_on_gcs import GCS_WORDS, STAGED
from tests.certify.s3_cases import (
    COLD,
    DATA,
    ENTRY,
    LEASE,
    MARKER,
    At,
    aborted_uploads,
    cut_off,
    deleted_from_outside,
    every,
    foreign_object,
    killed,
    killed_cleaner,
    late_entry,
    nothing_can_be_staged,
    one_dataset_fails,
    passing,
    paused,
    woken_after_retirement,
)

PUT, REWRITE, DELETE = GCS_WORDS.put, GCS_WORDS.publish, GCS_WORDS.discard
CONFLICT = Answer(409, "conflict")

# Entries of a new feed: bind, claim, start, then the first window.
POINTS = {
    "C7": At(PUT, STAGED, 2),
    "C8": At(PUT, STAGED, 2, arrives="before"),
    "C9": At(PUT, ENTRY, 4),
    "C10": At(PUT, ENTRY, 4, "late"),
    "C10b": At(PUT, ENTRY, 4, "before"),
    "C11": At(REWRITE, DATA),
    "C11b": At(REWRITE, DATA, arrives="late"),
    "C12": At(REWRITE, DATA, 2),
    "C12b": At(REWRITE, DATA, 3, arrives="late"),
    "C13": At(REWRITE, DATA, arrives="before"),
    "C13b": At(DELETE, STAGED, 2),
    "C14": At(PUT, MARKER),
    "C14b": At(PUT, MARKER, arrives="late"),
    "C15": At(PUT, MARKER, arrives="before"),
    "C15b": At(PUT, LEASE, 2),
}
PASSING: dict[str, Callable[[], list[Rule]]] = {
    "S6": lambda: every(DropReply(), "objects.list", 2),
    "S7": lambda: [
        *every(GCS_BACKEND_ERROR, "*", 5),
        *every(DropReply(), "objects.get|objects.read|objects.list", 7),
    ],
    "S8": lambda: [
        *every(DropReply(), PUT, 2, ENTRY),
        *every(DropReply(), PUT, 3, STAGED),
        *every(DropReply(), REWRITE, 3),
        *every(DropReply(), DELETE, 3),
        *every(DropReply(), PUT, 2, MARKER),
        *every(DropReply(), PUT, 2, LEASE),
    ],
    "S10": lambda: [
        *every(CONFLICT, f"{PUT}|{REWRITE}", 3),
        *every(GCS_RATE_LIMIT, f"{PUT}|{REWRITE}", 4),
    ],
}
NOT_SHOWN = {
    "S1": "a disk of the executor; `make certify` shows it on the local store",
    "S2": "GCS has no fsync",
    "S4": "entries are damaged in the same way whatever the store is: `make certify`",
    "S5": "an object is there when it is whole, and GCS has compared its checksum",
    "S11": "the probe at the start refuses such a place: tests/contract/test_gcs_answers.py",
    "S14": "HDFS only",
    "S15": "HDFS only",
    "S18": "whole keys are names, and versions are no files: tests/contract/test_gcs_store.py",
    "S20": "files are published by a rewrite, which is one act: tests/contract/test_gcs_answers.py",
}


def cases() -> Iterator[Case]:
    """C7 to C16, Z1, Z3, Z4, A5, E4, and the faults of stores that GCS can have."""
    for point, at in POINTS.items():
        act = partial(killed, at, point in COLD)
        yield Case(point, (point.rstrip("b"),), act, 35.0, int(point.endswith("b")))
    for nth in range(2):
        yield Case(f"C16/{nth + 1}", ("C16",), partial(killed_cleaner, nth), 60.0, nth)
    yield Case("Z1", ("Z1",), partial(paused, At(PUT, ENTRY, 4)), 40.0)
    yield Case("Z3", ("Z3",), partial(paused, At(REWRITE, DATA, 2)), 40.0)
    yield Case("Z4", ("Z4",), woken_after_retirement, 40.0)
    for name, rules in PASSING.items():
        yield Case(name, (name,), partial(passing, rules), 40.0)
    yield Case("A5", ("A5",), one_dataset_fails, 45.0)
    yield Case("E4", ("E4",), nothing_can_be_staged, 45.0)
    yield Case("S9", ("S9",), late_entry, 45.0)
    yield Case("S12", ("S12",), partial(cut_off, True), 45.0)
    yield Case("S13", ("S13",), partial(cut_off, False), 45.0)
    yield Case("S16", ("S16",), deleted_from_outside, 40.0)
    yield Case("S17", ("S17",), foreign_object, 45.0)
    yield Case("S19", ("S3", "S19"), aborted_uploads, 45.0)
    yield from (not_shown(each, why) for each, why in NOT_SHOWN.items())
