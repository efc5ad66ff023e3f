"""The invariants, checked on what lies in the store after every step, and at the end.

Reads the shelf only. I1 to I5 are in `story`; here are I6 (done means present, visible means
decided), I7 (published bytes never change), I8 (watermarks never fall), I10 (fenced owners decide
nothing), I12 (nothing referenced is removed), I14 (a lister sees whole files, each row once), I15
(nothing of a stopped dataset becomes visible until a person says so), I18 (only what was lost is
derived again), I19 (the files of a dataset are marked in journal order, deletions after files), and
F1 to F4 of `final_facts`.

What outside hands have taken away is remembered: a marker that was there once is proof for ever.
"""

import hashlib
import json
from collections.abc import Iterator

from penstock.testing.memory_store import Act, Shelf
from tests.simulator.final_facts import (
    check_all_marked,
    check_file,
    check_mark,
    check_visible,
    is_mark,
)
from tests.simulator.kafka import BROKEN, FILTERED, LIFE, MARKER, SimKafka
from tests.simulator.story import Row, Story, Violation, tell

JOURNAL = "_penstock/feed/journal/0/"
DONE = "_penstock/feed/done/0/"
SEGMENTS = "_penstock/feed/segments/"
DATA = "feed/"
TAIL = "feed/_tail/"
QUARANTINE = "_penstock/feed/quarantine/"


class Oracle:
    """Judges shelves; remembers stories and verdicts, because most states share most of both."""

    def __init__(self, kafka: SimKafka) -> None:
        self.kafka = kafka
        self.planted: set[str] = set()
        self.marked_once: set[tuple[int, str]] = set()  # by markers that somebody took away
        self.lost: set[str] = set()  # staged files and data that somebody took away
        self._stories: dict[tuple[str, bytes], Story] = {}
        self._good: set[int] = set()
        self._rows: dict[bytes, tuple[str, frozenset[Row]]] = {}

    def story(self, shelf: Shelf) -> Story:
        """The journal's meaning."""
        story = Story()
        number = 0
        while (raw := self.entry_of(shelf, number)) is not None:
            known = self._stories.get((story.sha256, raw))
            if known is None:
                known = tell(story, raw, self.kafka, shelf.objects)
                self._stories[(story.sha256, raw)] = known
            story = known
            number += 1
        return story

    def entry_of(self, shelf: Shelf, number: int) -> bytes | None:
        """The bytes of an entry, if there is one."""
        return shelf.objects.get(f"{JOURNAL}{number:020}.json")

    def markers_of(self, shelf: Shelf) -> Iterator[tuple[str, bytes]]:
        """All done markers, with their keys."""
        return ((key, raw) for key, raw in shelf.objects.items() if key.startswith(DONE))

    def check_count(self, shelf: Shelf, story: Story) -> None:
        """I1: there is no entry beside those that continue the journal."""
        journal = sum(1 for key in shelf.objects if key.startswith(JOURNAL))
        if journal != story.number + 1:
            raise Violation("I1", f"{journal} entries and the numbers end at {story.number}")

    def check_removed(self, _before: Shelf, key: str) -> None:
        """I7: entries and markers stay."""
        raise Violation("I7", f"{key} was deleted")

    def check_step(self, before: Shelf, act: Act, after: Shelf) -> None:
        """What one act may never do, and what must hold after it."""
        if before is after:
            return
        if act.name in ("link", "complete") and act.other in before.objects:
            raise Violation("I7", f"{act.other} was overwritten")
        if act.name == "delete" and act.key.startswith((JOURNAL, DONE)):
            self.check_removed(before, act.key)
        self.check(after)
        if act.name == "create" and act.key.startswith(JOURNAL):
            self._check_entry_added(self.story(before), self.story(after), act)
            self._check_final(before, after)
        if act.name == "delete" and act.key.startswith(DATA):
            self._check_deletion(before, act.key)

    def remember(self, shelf: Shelf, key: str) -> None:
        """Somebody takes an object or a staged file away; what it proved stays proven."""
        if key.startswith(DONE) and key in shelf.objects:
            marker = json.loads(shelf.objects[key])
            self.marked_once |= {(marker["number"], part) for part in marker["groups"]}
        elif key in shelf.staged or key.startswith(DATA):
            self.lost.add(key)
        self._good.clear()

    def _check_deletion(self, before: Shelf, final: str) -> None:
        """I19: whatever takes the place of a file is proven to be there before the file goes."""
        story = self.story(before)
        consumer = story.consumed.get(final)
        if consumer is None or final in self.planted:
            return
        part = (consumer, f"{story.files[final].dataset}@files")
        if part[1] in story.parts[consumer] and not self._is_proven(before, story, part):
            raise Violation("I19", f"{final} is deleted and {part} is not marked")

    def _check_final(self, before: Shelf, after: Shelf) -> None:
        """F2: all that was decided of a dataset is visible when its days become final."""
        story = self.story(before)
        if self.story(after).finalized_at > story.finalized_at:
            proven = self._done_parts(before, story) | consumed_parts(story)
            check_visible(story, self.story(after), proven)

    def _is_proven(self, shelf: Shelf, story: Story, part: tuple[int, str]) -> bool:
        return part in self._done_parts(shelf, story) or part in consumed_parts(story)

    def _check_entry_added(self, before: Story, after: Story, act: Act) -> None:
        """I8 and I10: no watermark falls unless a person moves it, no epoch is turned back."""
        if after.epoch < before.epoch:
            raise Violation("I10", f"{act.key} is of epoch {after.epoch}, after {before.epoch}")
        for partition, offset in before.watermarks.items():
            if after.watermarks[partition] < offset and b'"kind":"seek"' not in act.data:
                raise Violation("I8", f"{act.key} takes partition {partition} back from {offset}")

    def check(self, shelf: Shelf) -> None:
        """All state invariants; raises `Violation`."""
        if shelf.mark in self._good:
            return
        story = self.story(shelf)
        self.check_count(shelf, story)
        done = self._done_parts(shelf, story)
        self._check_visible(shelf, story)
        self._check_decided(shelf, story, done)
        self._check_consumed(shelf, story, done)
        self._check_corrected(shelf, story)
        self._check_order(story, done)
        self._good.add(shelf.mark)

    def _done_parts(self, shelf: Shelf, story: Story) -> set[tuple[int, str]]:
        done = set(self.marked_once)
        for key, raw in self.markers_of(shelf):
            marker = json.loads(raw)
            if story.hashes.get(marker["number"]) != marker["sha256"]:
                raise Violation("I6", f"{key} marks an entry that is not in the journal")
            done |= {(marker["number"], part) for part in marker["groups"]}
        return done

    def _check_visible(self, shelf: Shelf, story: Story) -> None:
        """I6, I14, I15: what is visible is decided, whole, unchanged, not held; no row twice."""
        shown: dict[Row, str] = {}
        for key, raw in shelf.objects.items():
            if (
                not key.startswith((DATA, QUARANTINE))
                or key.startswith(TAIL)
                or key in self.planted
            ):
                continue
            if is_mark(key):
                check_mark(story, key, raw)
                continue
            fact = story.files.get(key)
            if fact is None:
                raise Violation("I6", f"{key} is visible and nobody decided it")
            check_file(story, shelf.objects, key, fact)
            checksum, rows = self._content(raw)
            if checksum not in fact.checksums or rows != fact.rows:
                raise Violation("I7", f"{key} does not hold what was decided")
            if fact.number >= story.stopped_at.get(fact.dataset, fact.number + 1):
                raise Violation("I15", f"{key} is visible although its dataset is stopped")
            if key in story.consumed or key.startswith(QUARANTINE):
                continue
            for row in rows:
                if row in shown:
                    raise Violation("I14", f"{row} shows in {shown[row]} and in {key}")
                shown[row] = key

    def _check_decided(self, shelf: Shelf, story: Story, done: set[tuple[int, str]]) -> None:
        """I6 and I12: a done file is there; an undone one is there or can still be published."""
        for final in story.replaced:
            if not self.lost & {final, *story.files[final].staged}:
                raise Violation("I18", f"{final} was derived again, and it was not lost")
        for final, fact in story.files.items():
            if final in story.consumed or (final in shelf.objects and final not in self.planted):
                continue
            if final in self.lost or fact.staged[-1] in self.lost:
                continue  # until it is derived again; the end shows that it was
            if (fact.number, f"{fact.dataset}@files") in done:
                raise Violation("I6", f"{final} of entry {fact.number} is done and not there")
            if not any(staged in shelf.staged for staged in fact.staged):
                raise Violation("I12", f"{final} of entry {fact.number} is decided and lost")

    def _check_consumed(self, shelf: Shelf, story: Story, done: set[tuple[int, str]]) -> None:
        """Inputs are of done entries, stay until their successors show, and never come back."""
        for final, consumer in story.consumed.items():
            fact = story.files[final]
            if (fact.number, f"{fact.dataset}@files") not in done:
                raise Violation("I6", f"entry {consumer} consumed {final} before it was done")
            if final in shelf.objects and (consumer, f"{fact.dataset}@delete") in done:
                raise Violation("I14", f"{final} came back after entry {consumer} replaced it")
            is_taken = final not in shelf.objects and final not in self.lost
            if is_taken and not all(
                out in shelf.objects or out in story.consumed for out in story.outputs[consumer]
            ):
                raise Violation("I14", f"{final} went before its successors showed")

    def _check_corrected(self, shelf: Shelf, story: Story) -> None:
        """I12: the corrected bytes that an entry names are there, as it names them."""
        for key, digest in (story.corrected | story.manifests).items():
            if hashlib.sha256(shelf.objects.get(key, b"")).hexdigest() != digest:
                raise Violation("I12", f"{key} has bytes that an entry names, gone or altered")

    def _check_order(self, story: Story, done: set[tuple[int, str]]) -> None:
        """I19: files of a dataset are marked in journal order; deletions after their files."""
        proven = done | consumed_parts(story)
        waiting: set[str] = set()  # parts of older entries that nothing proves
        for number, parts in sorted(story.parts.items()):
            for part in parts:
                if part in waiting and (number, part) in done:
                    raise Violation(
                        "I19", f"{part} of entry {number} is marked before an older one"
                    )
            unproven = {part for part in parts if (number, part) not in proven}
            for part in unproven & {each for each in parts if each.endswith("@files")}:
                waiting.add(part)
                if (number, part.replace("@files", "@delete")) in done:
                    raise Violation("I19", f"entry {number} has deleted before {part} was marked")

    def check_end(self, shelf: Shelf) -> None:
        """Nothing is running and nothing fails any more: every record has exactly one fate."""
        self.check(shelf)
        story = self.story(shelf)
        done = self._done_parts(shelf, story)
        for number, parts in story.parts.items():
            if any((number, part) not in done for part in parts):
                raise Violation("I9", f"entry {number} is still undone after recovery")
        for partition, fates in self.kafka.partitions.items():
            is_now = partition // LIFE == self.kafka.life
            if not is_now and partition not in story.watermarks:
                continue  # it went before anybody had read of it
            if is_now and story.watermarks.get(partition) != self.kafka.latest[partition]:
                raise Violation("I13", f"partition {partition} stands at {story.watermarks}")
            for offset, fate in enumerate(fates[: self.kafka.latest[partition]]):
                self._check_fate(story, (partition, offset), fate)
        check_all_marked(story, shelf.objects)
        missing = [f for f in story.files if f not in story.consumed and f not in shelf.objects]
        if missing:
            raise Violation("I6", f"{missing} is decided, done and not visible")

    def _check_fate(self, story: Story, row: Row, fate: str) -> None:
        data = row in story.live_rows
        quarantined = row in story.quarantined
        gone = row in story.skipped or row in story.retired
        wanted = {FILTERED: 0, MARKER: 0}.get(fate, 1)
        if data + quarantined + gone != wanted and not (gone and wanted == 0):
            raise Violation("I5", f"{row} ({fate}) has {data + quarantined + gone} fates")
        if quarantined and fate not in BROKEN:
            raise Violation("I5", f"{row} is good and in the quarantine")

    def _content(self, raw: bytes) -> tuple[str, frozenset[Row]]:
        found = self._rows.get(raw)
        if found is None:
            rows = [(int(p), int(o)) for p, o in json.loads(raw)]
            if len(set(rows)) != len(rows):
                raise Violation("I14", f"a file holds a row twice: {rows}")
            found = (f"sha256:{hashlib.sha256(raw).hexdigest()}", frozenset(rows))
            self._rows[raw] = found
        return found


def consumed_parts(story: Story) -> set[tuple[int, str]]:
    """The lanes of files that were consumed, so they were done."""
    facts = [story.files[final] for final in story.consumed]
    return {(fact.number, f"{fact.dataset}@files") for fact in facts}
