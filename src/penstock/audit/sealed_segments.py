"""Compares sealed segments with the seals that name them, and with what lies under their numbers.

Reading the journal has checked the hash of every entry in them, and the chain.
"""

from collections.abc import Iterator, Mapping

from penstock.audit.damage import damage_difference
from penstock.audit.receipt import Difference
from penstock.model.envelope import Seal
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.journal.errors import SegmentDamaged
from penstock.protocol.journal.sealing import original_keys
from penstock.protocol.journal.segment_objects import Segment


def segment_differences(
    journal: FeedJournal, seals: Mapping[int, Seal], known: list[Difference]
) -> Iterator[Difference]:
    """What is wrong with the segments of these seals, beyond what is known; by entry."""
    for number, seal in sorted(seals.items()):
        try:
            segment = journal.segments.segment(seal.first)
        except SegmentDamaged as error:
            if (found := damage_difference(error)) not in known:
                yield found
            continue
        if (segment.last, segment.sha256) != (seal.last, seal.sha256):
            words = f"it is not the segment that entry {number} has sealed"
            yield Difference("journal", words, seal.key, entry=number)
        yield from _strays(journal, seal, segment)
    firsts = {seal.first for seal in seals.values()}
    unnamed = [first for first in journal.segments.firsts() if first not in firsts]
    for first in unnamed[:-1]:  # the last one may be about to be decided
        key = journal.layout.segment(first)
        yield Difference("journal", "no entry of the journal names this segment", key)


def _strays(journal: FeedJournal, seal: Seal, segment: Segment) -> Iterator[Difference]:
    """Entries that lie under sealed numbers and are not those that were sealed.

    Originals that were not deleted yet are the same, and no difference.
    """
    entries = {journal.layout.entry(n): n for n in range(seal.first, seal.last + 1)}
    keys = [key for key in original_keys(journal, seal.first, seal.last) if key in entries]
    for key, raw in journal.ask_all(journal.store.read, keys):
        if raw is not None and raw != segment.entry(entries[key]):
            words = (
                f"entry {entries[key]} is sealed, and this is another one: a process has written "
                "it that slept meanwhile, or that knows no seals. It counts for nothing"
            )
            yield Difference("journal", words, key, entry=entries[key])


def sealed_markers(journal: FeedJournal, seals: Mapping[int, Seal]) -> Iterator[str]:
    """The keys that the sealed markers had; `Segments.read` reads them."""
    layout = journal.layout
    for seal in seals.values():
        try:
            segment = journal.segments.segment(seal.first)
        except SegmentDamaged:
            continue  # it is told as damage
        for number, packed in enumerate(segment.entries, segment.first):
            if packed.marker is not None:
                yield layout.marker(number)
            yield from (layout.part_marker(number, part) for part in packed.parts)
