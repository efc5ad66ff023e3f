"""Entries as bytes: every kind survives, and no edit does."""

import hashlib
import json
from typing import Any, get_args

import msgspec
import pytest

from penstock.errors import EntryDamaged, EntryForeign, EntryMisplaced, EntryNewer
from penstock.model.entries import (
    FORMAT,
    AnyBody,
)
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.journal.wire import check_home, open_entry, seal, unseal
from tests.helpers.entry_samples import BODIES, KEY, an_entry, with_steps

NEWER = FORMAT + 1


def hashed(text: bytes) -> bytes:
    """Any JSON object with a good hash in front, as somebody would who knows how."""
    rest = b"," + text[1:]
    return b'{"hash":"' + hashlib.sha256(rest).hexdigest().encode() + b'"' + rest


def changed(**fields: Any) -> bytes:
    """A well-hashed entry with some fields of the envelope changed."""
    return hashed(json.dumps({**msgspec.to_builtins(an_entry()), **fields}).encode())


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
        (hashed(b'{"other":1}'), "it is not an entry"),
        (hashed(b"{"), "it is not an entry"),
        (hashed(b'{"format":1'), "it is not an entry"),
        (hashed(b'{"format":"one"}'), "it is not an entry"),
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
    with pytest.raises(EntryNewer, match=f"format {NEWER}; this version knows up to {FORMAT}"):
        open_entry(FEED_BOOK, KEY, 5, changed(format=NEWER, **others))


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
