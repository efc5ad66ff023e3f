"""Damage of the journal as an audit tells it: which object, and what is wrong with it."""

from collections.abc import Iterator, Mapping, Set

import msgspec

from penstock.audit.receipt import Difference
from penstock.errors import JournalError
from penstock.journal.journal import Journal
from penstock.journal.layout import number_in
from penstock.journal.markers import Marker

_decoder = msgspec.json.Decoder(Marker)


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
    journal: Journal, listed: list[str], groups: Mapping[int, Set[str]]
) -> Iterator[Difference]:
    """Markers of entries that publish nothing, or of groups that their entry does not have.

    `groups` are those of every entry that has something to publish. Whether a marker has its
    entry's hash, and lies within the journal, was looked at when the journal was opened.
    """
    for key in listed:
        names = key.removeprefix(f"{journal.layout.done}/").split("/")[1:]
        number = number_in(names[0]) if names else None
        if number is None:
            continue  # a stranger, which nobody takes for a marker
        if number not in groups:
            yield Difference("journal", "it marks an entry that publishes nothing", key)
            continue
        said = {names[1].removesuffix(".json")} if len(names) > 1 else _said(journal, key)
        invented = sorted(said - groups[number])
        if invented:
            words = f"it marks {', '.join(invented)}, which entry {number} does not publish"
            yield Difference("journal", words, key, entry=number)


def _said(journal: Journal, key: str) -> set[str]:
    """The groups that a marker names; what is no marker was told already."""
    try:
        return set(_decoder.decode(journal.store.read(key) or b"").groups)
    except msgspec.MsgspecError:
        return set()
