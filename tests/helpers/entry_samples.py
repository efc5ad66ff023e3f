"""A sample of every kind of entry."""

from typing import Any

import msgspec

from penstock.model.entries import (
    AnyBody,
    Bind,
    Counts,
    Drop,
    Entry,
    Finalize,
    Gap,
    Generation,
    LastRecord,
    Park,
    PartitionStart,
    Rebind,
    Replace,
    Replay,
    Retire,
    Seek,
    Start,
    Unpark,
    Window,
)
from penstock.model.envelope import Claim, Seal
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.final_days import Frontier
from penstock.model.manifest import Content, Group, Input, ManifestRef, RecordSet, groups_of
from penstock.model.ranges import OffsetSet
from penstock.model.steps import DELIVER, FINALIZE, REWRITE
from penstock.protocol.feed_book.state import FeedState
from tests.helpers.journals import a_compaction, a_file, begins, covered, next_entry

KEY = "journal/5"
PART = covered(0, 4)
CONTENT = Content(
    files=(a_file("é", PART, [0, 2]),),
    evidence=(RangeEvidence(PART, OffsetSet.of([0, 2]), Evidence(2, 2**64 - 1), 2**64 - 1),),
    quarantined=(RecordSet("topic", "id", 0, "", OffsetSet.of([1])),),
    inputs=(Input("a", "x"), Input("a", "y")),
    records=(RecordSet("topic", "id", 0, "b", OffsetSet.of([7])),),
)
GROUPS = groups_of(CONTENT, REWRITE)
BODIES: list[AnyBody] = [
    Bind("cluster"),
    Claim("host:1 🌊"),
    Start((begins(0, 0), begins(1, 2**62))),
    Window(
        window="1-1",
        groups=GROUPS,
        content=CONTENT,
        ranges=(PART,),
        counts=Counts(4, 2, 1, 1),
        last_records=(LastRecord("id", 0, 3, 2**64 - 1),),
        schemas={"é": 2},
    ),
    Window(
        window="1-1",
        groups=(Group("a", 2000, 5, 9, DELIVER),),
        manifest=ManifestRef("manifests/1-1.json", "0" * 64),
        ranges=(PART,),
        counts=Counts(),
    ),
    Gap(PART, "me", "expired"),
    Seek("t", "id", 0, 4, 2, "me", "why"),
    Rebind("t", "id", "id-2", (PartitionStart("t", "id-2", 0, 0),), "me", "why"),
    Park("a", 3, "foreign file"),
    Unpark("a", "me"),
    Replay(window="1-x1", groups=GROUPS, content=CONTENT, author="me"),
    Drop(content=CONTENT, author="me", reason="why"),
    Replace(window="1-1", groups=GROUPS, content=CONTENT, number=3),
    a_compaction(CONTENT),
    Retire(window="1-x1", groups=GROUPS, content=CONTENT, author="me", reason="why"),
    Finalize(
        window="1-x1",
        groups=(Group("a", 0, 0, 0, FINALIZE),),
        content=Content(complete=("feed/a/day=2026-11-15",)),
        as_of=4,
        frontier=Frontier("2026-11-16", "2026-11-16T00"),
        datasets=("a", "b"),
        author="me",
    ),
    Generation(window="1-x1", groups=GROUPS, content=CONTENT, generation=2, ranges=(PART,)),
    Seal(0, 2, "segments/0.json", "0" * 64),
]


def an_entry(body: AnyBody | None = None) -> Entry:
    return next_entry(FeedState(), body or BODIES[3], number=5, epoch=1)


def with_steps(steps: object) -> dict[str, Any]:
    """The body of a window whose first group has other steps."""
    body: dict[str, Any] = msgspec.to_builtins(an_entry().body)
    body["groups"][0]["steps"] = steps
    return body
