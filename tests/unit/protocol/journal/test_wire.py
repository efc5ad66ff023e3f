"""Entries as bytes: every kind survives, and no edit does."""

import hashlib
import json
from typing import Any, get_args

import msgspec
import pytest

from penstock.errors import EntryDamaged, EntryForeign, EntryMisplaced, EntryNewer
from penstock.model.entries import (
    AnyBody,
    Bind,
    Counts,
    Drop,
    Entry,
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
from penstock.model.envelope import Claim
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.manifest import Content, Group, Input, ManifestRef, RecordSet, groups_of
from penstock.model.ranges import OffsetSet
from penstock.model.steps import DELIVER, REWRITE
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.wire import check_home, open_entry, seal, unseal
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
    Generation(window="1-x1", groups=GROUPS, content=CONTENT, generation=2, ranges=(PART,)),
]


def an_entry(body: AnyBody | None = None) -> Entry:
    return next_entry(FeedState(), body or BODIES[3], number=5, epoch=1)


def hashed(text: bytes) -> bytes:
    """Any JSON object with a good hash in front, as somebody would who knows how."""
    rest = b"," + text[1:]
    return b'{"hash":"' + hashlib.sha256(rest).hexdigest().encode() + b'"' + rest


def changed(**fields: Any) -> bytes:
    """A well-hashed entry with some fields of the envelope changed."""
    return hashed(json.dumps({**msgspec.to_builtins(an_entry()), **fields}).encode())


def with_steps(steps: object) -> dict[str, Any]:
    """The body of a window whose first group has other steps."""
    body: dict[str, Any] = msgspec.to_builtins(an_entry().body)
    body["groups"][0]["steps"] = steps
    return body


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_every_kind_of_entry_survives_being_written_and_read(body: AnyBody) -> None:
    data, sha256 = seal(an_entry(body))
    found = open_entry(FEED_BOOK, KEY, 5, data)
    assert found.entry == an_entry(body)
    assert found.sha256 == sha256
    assert json.loads(data)["hash"] == sha256
    assert json.loads(data)["body"]["kind"] == type(body).__name__.lower()


def test_every_kind_there_is_was_tried() -> None:
    kinds = {kind.__name__ for kind in get_args(AnyBody)}
    assert {type(body).__name__ for body in BODIES} == kinds


def test_an_entry_hashed_by_hand_is_an_entry() -> None:
    """Goal: the tests below fail for the reason they name. Method: change nothing."""
    assert open_entry(FEED_BOOK, KEY, 5, changed()).entry == an_entry()
    assert open_entry(FEED_BOOK, KEY, 5, changed(at="1999")).entry.at == "1999"


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "the file is empty"),
        (b"not JSON at all", "does not begin like an entry"),
        (b'{"some": "JSON"}', "does not begin like an entry"),
        (seal(an_entry())[0] + b"\n", "its hash is wrong"),
        (b" " + seal(an_entry())[0], "does not begin like an entry"),
        (hashed(b'{"other":1}'), "it is no entry"),
        (hashed(b"{"), "it is no entry"),
        (hashed(b'{"format":1'), "it is no entry"),
        (hashed(b'{"format":"one"}'), "it is no entry"),
        (changed(format=0), "never a format 0"),
        (changed(format=-3), "never a format -3"),
        (changed(format=0, extra=1), "never a format 0"),
        (changed(extra=1), "unknown field `extra`"),
        (changed(number="5"), "Expected `int`"),
        (changed(body={"kind": "run", "class": "os.system"}), "Invalid value 'run'"),
        (changed(body={"kind": "claim", "owner": "me", "class": "os.system"}), "`class`"),
        (changed(body={"owner": "me"}), "`kind`"),
    ],
)
def test_what_is_no_entry_is_refused_with_the_reason(raw: bytes, why: str) -> None:
    with pytest.raises(EntryDamaged) as caught:
        open_entry(FEED_BOOK, KEY, 5, raw)
    assert why in caught.value.why
    assert KEY in str(caught.value)
    assert caught.value.exit_code == 5


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"extra": 1},
        {"body": {"kind": "teleport"}},
        {"body": {"kind": "claim", "owner": "me", "host": "new"}},
        {"body": with_steps([{"step": "commit_table", "table": "t"}])},
        {"body": with_steps("none")},
        {"number": "five"},
    ],
)
def test_an_entry_of_a_newer_format_asks_for_an_upgrade(others: dict[str, Any]) -> None:
    with pytest.raises(EntryNewer, match="format 3; this version knows up to 2"):
        open_entry(FEED_BOOK, KEY, 5, changed(format=3, **others))


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([{"step": "os.system"}], r"Invalid value 'os\.system'"),
        ([{"step": "publish_files", "table": "t"}], "unknown field `table`"),
        ([{}], "`step`"),
        (["publish_files"], "Expected `object`, got `str`"),
    ],
)
def test_steps_are_a_closed_set_of_values(steps: list[Any], why: str) -> None:
    with pytest.raises(EntryDamaged, match=why):
        open_entry(FEED_BOOK, KEY, 5, changed(body=with_steps(steps)))


def test_a_good_entry_under_another_number_is_misplaced() -> None:
    with pytest.raises(EntryMisplaced, match="its number is 5, not 6"):
        open_entry(FEED_BOOK, KEY, 6, seal(an_entry())[0])


@pytest.mark.parametrize(
    ("home", "what"),
    [
        (("other", "lake-1", 1), "feed 'feed', but this is 'other'"),
        (("feed", "lake-2", 1), "lake 'lake-1', but this is 'lake-2'"),
        (("feed", "lake-1", 2), "incarnation '1', but this is '2'"),
    ],
)
def test_an_entry_must_lie_where_it_belongs(home: tuple[str, str, int], what: str) -> None:
    check_home(KEY, an_entry(), "feed", "lake-1", 1)
    with pytest.raises(EntryForeign, match=what):
        check_home(KEY, an_entry(), *home)


def test_the_hash_covers_the_bytes_and_not_the_meaning() -> None:
    """An edit that a JSON reader would not see is an edit."""
    plain, _ = unseal(KEY, seal(an_entry())[0])
    spaced = plain.replace(b'"number":5', b'"number": 5')
    assert json.loads(spaced) == json.loads(plain)
    assert (
        open_entry(FEED_BOOK, KEY, 5, hashed(spaced)).sha256
        != open_entry(FEED_BOOK, KEY, 5, hashed(plain)).sha256
    )
