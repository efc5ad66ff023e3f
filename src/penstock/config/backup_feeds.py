"""The backup of a feed: another feed of the file, which keeps the same records as they came."""

from collections.abc import Iterable

from penstock.config.mistakes import Mistakes, Place, closest, shown
from penstock.config.tree import Table
from penstock.model.spec import FeedSpec


def check_backups(root: Table, feeds: Iterable[FeedSpec], mistakes: Mistakes) -> None:
    """Every `backup` names a raw feed over the topics of the feed that names it."""
    known = {feed.name: feed for feed in feeds}
    for feed in known.values():
        if feed.backup is None:
            continue
        place = _place(root, feed.name)
        backup = known.get(feed.backup)
        if backup is None or backup is feed or backup.decode.format != "raw":
            found = f"found {shown(feed.backup)}"
            raw = sorted(
                name
                for name, each in known.items()
                if each.decode.format == "raw" and each is not feed
            )
            allowed = "the name of another feed of this file with `decode: {format: raw}`"
            mistakes.add(place, found, allowed, "" if mistakes.full else closest(feed.backup, raw))
            continue
        missing = [topic for topic in feed.topics if not backup.wants(topic)]
        if missing:
            found = f"feed {shown(feed.backup)} does not read {', '.join(map(shown, missing))}"
            mistakes.add(place, found, "a feed that reads all topics of this one")


def _place(root: Table, feed: str) -> Place:
    """Where the file says it: in the feed, or in the defaults."""
    feeds = root.entries.get("feeds")
    own = feeds.entries.get(feed) if isinstance(feeds, Table) else None
    for table in (own, root.entries.get("defaults")):
        if isinstance(table, Table) and "backup" in table.entries:
            return table.entries["backup"].place
    return root.place
