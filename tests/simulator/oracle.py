"""The invariants, checked on what lies in the store after every step, and at the end.

Reads the shelf only. I1 to I5 are in `story`; here are I6 (done means present, visible means
decided), I7 (published bytes never change), I8 (watermarks never fall), I10 (fenced owners decide
nothing), I12 (nothing referenced is removed), I14 (a lister sees whole files, each row once), I15
(nothing of a stopped dataset becomes visible until a person says so).
"""

import hashlib
import json

from penstock.testing.memory_store import Act, Shelf
from tests.simulator.kafka import BROKEN, FILTERED, MARKER, SimKafka
from tests.simulator.story import Row, Story, Violation, tell

JOURNAL = "_penstock/feed/journal/0/"
DONE = "_penstock/feed/done/0/"
DATA = "feed/"
TAIL = "feed/_tail/"
QUARANTINE = "_penstock/feed/quarantine/"


class Oracle:
    """Judges shelves; remembers stories and verdicts, because most states share most of both."""

    def __init__(self, kafka: SimKafka) -> None:
        self.kafka = kafka
        self.planted: set[str] = set()
        self._stories: dict[tuple[str, bytes], Story] = {}
        self._good: set[int] = set()
        self._rows: dict[bytes, tuple[str, frozenset[Row]]] = {}

    def story(self, shelf: Shelf) -> Story:
        """The journal's meaning."""
        story = Story()
        number = 0
        while (raw := shelf.objects.get(f"{JOURNAL}{number:020}.json")) is not None:
            known = self._stories.get((story.sha256, raw))
            if known is None:
                known = tell(story, raw, self.kafka)
                self._stories[(story.sha256, raw)] = known
            story = known
            number += 1
        return story

    def check_step(self, before: Shelf, act: Act, after: Shelf) -> None:
        """What one act may never do, and what must hold after it."""
        if before is after:
            return
        if act.name in ("link", "complete") and act.other in before.objects:
            raise Violation("I7", f"{act.other} was overwritten")
        if act.name == "delete" and act.key.startswith((JOURNAL, DONE)):
            raise Violation("I7", f"{act.key} was deleted")
        self.check(after)
        if act.name == "create" and act.key.startswith(JOURNAL):
            self._check_entry_added(self.story(before), self.story(after), act)

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
        journal = sum(1 for key in shelf.objects if key.startswith(JOURNAL))
        if journal != story.number + 1:
            raise Violation("I1", f"{journal} entries and the numbers end at {story.number}")
        done = self._done_groups(shelf, story)
        self._check_visible(shelf, story)
        self._check_decided(shelf, story, done)
        self._check_consumed(shelf, story, done)
        self._check_corrected(shelf, story)
        self._good.add(shelf.mark)

    def _done_groups(self, shelf: Shelf, story: Story) -> set[tuple[int, str]]:
        done = set()
        for key, raw in shelf.objects.items():
            if key.startswith(DONE):
                marker = json.loads(raw)
                if story.hashes.get(marker["number"]) != marker["sha256"]:
                    raise Violation("I6", f"{key} marks an entry that is not in the journal")
                done |= {(marker["number"], group) for group in marker["groups"]}
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
            fact = story.files.get(key)
            if fact is None:
                raise Violation("I6", f"{key} is visible and nobody decided it")
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
        for final, fact in story.files.items():
            if final in story.consumed or (final in shelf.objects and final not in self.planted):
                continue
            if (fact.number, fact.dataset) in done:
                raise Violation("I6", f"{final} of entry {fact.number} is done and not there")
            if not any(staged in shelf.staged for staged in fact.staged):
                raise Violation("I12", f"{final} of entry {fact.number} is decided and lost")

    def _check_consumed(self, shelf: Shelf, story: Story, done: set[tuple[int, str]]) -> None:
        """Inputs are of done entries, stay until their successors show, and never come back."""
        for final, consumer in story.consumed.items():
            fact = story.files[final]
            if (fact.number, fact.dataset) not in done:
                raise Violation("I6", f"entry {consumer} consumed {final} before it was done")
            if final in shelf.objects and (consumer, fact.dataset) in done:
                raise Violation("I14", f"{final} came back after entry {consumer} replaced it")
            if final not in shelf.objects and not all(
                out in shelf.objects or out in story.consumed for out in story.outputs[consumer]
            ):
                raise Violation("I14", f"{final} went before its successors showed")

    def _check_corrected(self, shelf: Shelf, story: Story) -> None:
        """I12: the corrected bytes that an entry names are there, as it names them."""
        for key, digest in story.corrected.items():
            if hashlib.sha256(shelf.objects.get(key, b"")).hexdigest() != digest:
                raise Violation("I12", f"{key} has corrected bytes that are gone or altered")

    def check_end(self, shelf: Shelf) -> None:
        """Nothing is running and nothing fails any more: every record has exactly one fate."""
        self.check(shelf)
        story = self.story(shelf)
        done = self._done_groups(shelf, story)
        for number, groups in story.groups.items():
            if any((number, group) not in done for group in groups):
                raise Violation("I9", f"entry {number} is still undone after recovery")
        for partition, fates in self.kafka.partitions.items():
            if story.watermarks.get(partition) != self.kafka.latest[partition]:
                raise Violation("I13", f"partition {partition} stands at {story.watermarks}")
            for offset, fate in enumerate(fates[: self.kafka.latest[partition]]):
                self._check_fate(story, (partition, offset), fate)
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
