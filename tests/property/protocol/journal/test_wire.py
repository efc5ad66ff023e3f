"""Entries as bytes: damage anywhere is noticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import EntryDamaged
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.journal.wire import open_entry, seal
from tests.helpers.entry_samples import KEY, an_entry


@given(st.data())
def test_one_flipped_bit_anywhere_is_noticed(data: st.DataObject) -> None:
    raw = bytearray(seal(an_entry())[0])
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(EntryDamaged, match=KEY):
        open_entry(FEED_BOOK, KEY, 5, bytes(raw))


@given(st.data())
def test_a_torn_entry_is_noticed_wherever_it_ends(data: st.DataObject) -> None:
    raw = seal(an_entry())[0]
    kept = data.draw(st.integers(0, len(raw) - 1))
    filler = data.draw(st.sampled_from([b"", b"\0" * (len(raw) - kept)]))
    with pytest.raises(EntryDamaged):
        open_entry(FEED_BOOK, KEY, 5, raw[:kept] + filler)
