"""Damage of the journal as an audit tells it: which object, and what is wrong with it."""

from collections.abc import Iterator, Mapping

from penstock.audit.receipt import Difference
from penstock.errors import JournalError, MarkerWrong
from penstock.model.layout import number_in
from penstock.protocol.journal.journal import Journal
from penstock.protocol.journal.markers import Marker, check_marker


def damage_difference(error: JournalError) -> Difference:
    """What a feed would stop at, as a difference with the file's name."""
    key = getattr(error, "key", "") or getattr(error, "witness", "")
    number = number_in(key.rpartition("/")[2])
    words = f"{error.code}: {error.found}".rstrip(".")
    return Difference("journal", words, key, entry=-1 if number is None else number)


def list_markers(journal: Journal) -> list[str]:
    """Every done marker that is there now. Looked at before the journal is, like all witnesses."""
    return journal.store.list_after(journal.layout.done)


def stray_markers(
    journal: Journal, listed: list[str], marks: Mapping[int, Marker]
) -> Iterator[Difference]:
    """Markers of entries that publish nothing, or that say something else than their entry.

    `marks` are the most that those of every entry with something to publish may say. Whether a
    marker lies within the journal was looked at when the journal was opened; so was the first one
    of every entry. Those of single groups are looked at only where they are needed: here are all.
    """
    for key in listed:
        names = key.removeprefix(f"{journal.layout.done}/").split("/")[1:]
        number = number_in(names[0]) if names else None
        if number is None or len(names) > 2:
            continue  # a stranger, which nobody takes for a marker
        if number not in marks:
            yield Difference("journal", "it marks an entry that publishes nothing", key)
            continue
        group = names[1].removesuffix(".json") if len(names) > 1 else ""
        yield from _marker_differences(journal, key, marks[number], group)


def _marker_differences(
    journal: Journal, key: str, most: Marker, group: str
) -> Iterator[Difference]:
    """What one marker says that it must not; `group` is the one that it is named after, if any."""
    try:
        said = set(
            check_marker(key, journal.store.read(key) or b"", most.number, most.sha256).groups
        )
    except MarkerWrong as error:
        yield damage_difference(error)
        return
    invented = sorted((said | {group} - {""}) - set(most.groups))
    if invented:
        words = f"it marks {', '.join(invented)}, which entry {most.number} does not publish"
        yield Difference("journal", words, key, entry=most.number)
    elif group and said != {group}:
        words = f"it marks {', '.join(sorted(said)) or 'nothing'}, and is named after {group}"
        yield Difference("journal", words, key, entry=most.number)
