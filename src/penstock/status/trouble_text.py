"""What fails now in a feed that runs, as a line of `penstock status` and `penstock check`."""

from penstock.model.plural import number_of
from penstock.protocol.feed_book.feed_lease import FeedTrouble


def trouble_line(trouble: FeedTrouble) -> str:
    """Since when, how often it was tried, and what it is."""
    tried = number_of(trouble.tries, "failure")
    return f"in trouble since {trouble.since}, {tried}: {trouble.code}: {trouble.sentence}"
