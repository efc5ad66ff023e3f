"""Live files whose groups are done: what a compaction or retention may consume."""

from penstock.protocol.feed_book.feed_journal import FeedFold
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.state import is_pending


def done_files(fold: FeedFold, dataset: str, day: str = "") -> tuple[str, ...]:
    """The live files of a dataset, perhaps of one day, whose groups are done, in name order."""
    return tuple(
        sorted(
            final
            for final, live in inventory_of(fold).files_of(dataset, day).items()
            if not is_pending(fold.state, live.number, dataset)
        )
    )


def inventory_of(fold: FeedFold) -> Inventory:
    """The inventory of a deep fold."""
    if fold.inventory is None:
        raise ValueError("compaction and retention need a deep fold")
    return fold.inventory
