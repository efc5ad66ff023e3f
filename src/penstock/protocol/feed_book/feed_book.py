"""The book of a feed, as it is handed to a journal."""

from typing import TypeAlias

import msgspec

from penstock.model.entries import FORMAT, Bind, Entry, FeedBody
from penstock.protocol.feed_book import fold, rules
from penstock.protocol.feed_book.contents import LoadedContent
from penstock.protocol.feed_book.inventory import Inventory, consumes
from penstock.protocol.feed_book.state import FOLD, FeedState
from penstock.protocol.feed_book.upgrade_entries import UPGRADES
from penstock.protocol.journal.book import Book, LongState
from penstock.protocol.journal.book_state import Checkpoint

FeedCheckpoint: TypeAlias = Checkpoint[FeedState]

FEED_BOOK: Book[FeedState, FeedBody, Inventory] = Book(
    name="feed",
    first=Bind,
    entries=msgspec.json.Decoder(Entry),
    format=FORMAT,
    upgrades=UPGRADES,
    empty=FeedState,
    objection=rules.body_objection,
    append_objection=rules.append_objection,
    apply=fold.apply_body,
    checkpoints=msgspec.json.Decoder(FeedCheckpoint),
    fold=FOLD,
    long=LongState(Inventory, LoadedContent.load, consumes),
)
