"""The backup of a feed: another feed of the file, which keeps the same records as they came."""

from collections.abc import Iterable, Iterator

from penstock.config.mistakes import Mistakes, Place, closest, shown
from penstock.config.tree import Table
from penstock.model.spec import FeedSpec

# What the raw feed of `penstock init --backup` includes: all that a record of Kafka has.
WHOLE_RECORD = ("key", "headers", "timestamp_type")
_POLICIES = ("quarantine", "kafka")  # words of `time` that may leave a record without a day


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


def backup_warnings(feed: FeedSpec, feeds: Iterable[FeedSpec]) -> Iterator[str]:
    """What the backup of a feed does not keep, and what could halt it; none if it is whole."""
    backup = next((each for each in feeds if each.name == feed.backup), None)
    if backup is None:
        return
    for found in (*_left_out(backup), *_halting(backup)):
        yield f"its backup {backup.name!r} {found}"


def _left_out(backup: FeedSpec) -> Iterator[str]:
    """What a raw feed leaves out of its records, or records that it leaves out."""
    if backup.tombstones == "filter":
        yield "leaves out records without a value; set `tombstones: keep` there"
    absent = [name for name in WHOLE_RECORD if name not in backup.include]
    if absent:
        yield f"does not keep all of a record; add {', '.join(absent)} to `include` there"
    if backup.convert:
        yield "has `convert`, so that its rows are not the records as they came"
    if backup.format != "parquet":
        yield f"has `format: {backup.format}`; only Parquet is known to take every record whole"
    if backup.unknown == "filter":
        yield "leaves out records of datasets that are not declared; set `unknown: create` there"


def _halting(backup: FeedSpec) -> Iterator[str]:
    """What can bring records of a raw feed into its quarantine, or halt it."""
    if backup.tombstones == "quarantine":
        yield "quarantines records without a value; set `tombstones: keep` there"
    if backup.route.kind != "topic":
        yield "can quarantine records for their route; set `route: {by: topic}` there"
    if backup.unknown == "quarantine":
        yield "quarantines records of datasets that are not declared; set `unknown: create` there"
    time = backup.time
    words = {"missing": time.missing, "outside": time.outside}
    loose = [name for name, word in words.items() if word in _POLICIES]
    if time.field:
        yield "takes the time from a field, which records may lack; remove `time.field` there"
    elif loose:
        days = ", ".join(f"{name}: 9999-12-31" for name in loose)
        yield f"quarantines records for Kafka's timestamp; set `time: {{{days}}}` there"
    if any(key.kind in {"field", "plugin"} for key in backup.partition):
        yield "has directories by a field or a plug-in, which can refuse records"
    if backup.on_gap == "stop":
        yield "halts where records expired before they were read; set `on_gap: accept` there"


def _place(root: Table, feed: str) -> Place:
    """Where the file says it: in the feed, or in the defaults."""
    feeds = root.entries.get("feeds")
    own = feeds.entries.get(feed) if isinstance(feeds, Table) else None
    for table in (own, root.entries.get("defaults")):
        if isinstance(table, Table) and "backup" in table.entries:
            return table.entries["backup"].place
    return root.place
