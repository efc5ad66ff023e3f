"""Damage of the journal as differences: which object, and what is wrong with it."""

from collections.abc import Iterator, Mapping

from penstock.audit.receipt import Difference
from penstock.errors import JournalError, MarkerWrong
from penstock.model.lanes import dataset_of
from penstock.model.layout import number_in
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.journal.markers import Marker, check_marker


def damage_difference(error: JournalError) -> Difference:
    """An error of the journal as a difference with the object's name."""
    key = getattr(error, "key", "") or getattr(error, "witness", "")
    number = number_in(key.rpartition("/")[2])
    words = f"{error.code}: {error.found}".rstrip(".")
    return Difference("journal", words, key, entry=-1 if number is None else number)


def list_markers(journal: FeedJournal) -> list[str]:
    """All done markers. They are listed before the journal is read, like all witnesses."""
    return list_keys(journal.store, journal.layout.done)


def stray_markers(
    journal: FeedJournal, listed: list[str], marks: Mapping[int, Marker]
) -> Iterator[Difference]:
    """Differences for markers of entries that publish nothing, or that contradict their entry.

    `marks` are the parts that the markers of each entry may name. Opening the journal has checked
    that no marker is beyond its end, and the first marker of every entry. Here the markers of
    single groups are checked too.
    """
    for key in listed:
        names = key.removeprefix(f"{journal.layout.done}/").split("/")[1:]
        number = number_in(names[0]) if names else None
        if number is None or len(names) > 2:
            continue  # not a marker
        if number not in marks:
            yield Difference("journal", "it marks an entry that publishes nothing", key)
            continue
        group = names[1].removesuffix(".json") if len(names) > 1 else ""
        yield from _marker_differences(journal, key, marks[number], group)


def _marker_differences(
    journal: FeedJournal, key: str, most: Marker, group: str
) -> Iterator[Difference]:
    """The differences of one marker; `group` is the group in its name, if any."""
    try:
        said = set(
            check_marker(key, journal.segments.read(key) or b"", most.number, most.sha256).groups
        )
    except MarkerWrong as error:
        yield damage_difference(error)
        return
    known = {*most.groups, *map(dataset_of, most.groups)}  # older markers name whole groups
    invented = sorted((said | {group} - {""}) - known)
    if invented:
        words = f"it marks {', '.join(invented)}, which entry {most.number} does not publish"
        yield Difference("journal", words, key, entry=most.number)
    elif group and said != {group}:
        words = f"it marks {', '.join(sorted(said)) or 'nothing'}, but its name is that of {group}"
        yield Difference("journal", words, key, entry=most.number)
