"""The auditor's own sums, on entries that the journal's rules would not let pass.

Goal: the audit does not rest on the rules alone. Method: entries go into the ledger unjudged.
"""

import msgspec
import pytest

from penstock.audit.ledger import Ledger
from penstock.audit.receipt import Difference
from penstock.audit.shallow import coverage_differences, row_differences
from penstock.model.entries import AnyBody, Counts, Gap, Replace, Seek, Start, Window
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.manifest import QUARANTINE, Content, RecordSet
from penstock.model.ranges import OffsetRange, OffsetSet
from tests.helpers.journals import a_file, begins, covered, next_entry, told, window_of
from tests.simulator.kafka import TOPIC, TOPIC_ID


def proven(part: OffsetRange, bad: tuple[int, ...] = (), number: int = 1) -> Window:
    """A window over one range with full evidence; `bad` offsets go to the quarantine."""
    good = [offset for offset in range(part.start, part.end) if offset not in bad]
    read = Evidence.of_positions(part.topic, part.partition, range(part.start, part.end))
    refused = Evidence.of_positions(part.topic, part.partition, bad)
    files = [a_file("a", part, good)] if good else []
    files += [a_file(QUARANTINE, part, bad)] if bad else []
    seen = RangeEvidence(part, OffsetSet.of(range(part.start, part.end)), read, 0)
    seen = msgspec.structs.replace(seen, quarantined=refused)
    named = (RecordSet(TOPIC, TOPIC_ID, part.partition, "", OffsetSet.of(bad)),) if bad else ()
    content = Content(files=tuple(files), evidence=(seen,), quarantined=named)
    window = window_of(content, part, window=f"1-{number}")
    return msgspec.structs.replace(window, counts=Counts(len(part), len(good), len(bad)))


def objections(*bodies: AnyBody) -> list[Difference]:
    """What the ledger says to these bodies after the start of partition 0 at offset 0."""
    ledger, state = Ledger(), told()
    for body in (Start((begins(0, 0),)), *bodies):
        entry = next_entry(state, body)
        content = getattr(body, "content", None) or Content()
        ledger.apply(entry, content)
        state.number += 1
    coverage = [each for one in ledger.coverage.values() for each in one.imbalance()]
    return [*ledger.differences, *coverage, *row_differences(ledger)]


def content_of(window: Window) -> Content:
    assert window.content is not None
    return window.content


def changed(window: Window, **changes: object) -> Window:
    """The window with another content."""
    content = msgspec.structs.replace(content_of(window), **changes)
    return msgspec.structs.replace(window, content=content)


def test_windows_that_follow_each_other_and_add_up_are_fine() -> None:
    later = proven(covered(3, 5), number=2)
    assert objections(proven(covered(0, 3), bad=(1,)), later) == []


def test_a_hole_between_windows_is_named() -> None:
    found = objections(proven(covered(0, 3)), proven(covered(5, 6), number=2))
    assert found[0].found == f"{TOPIC}/0 [3, 5) is covered by no entry"
    assert found[0].ranges == (covered(3, 5),)
    assert any(each.found == "6 offsets have 4 fates" for each in found)


def test_offsets_that_two_windows_cover_are_named() -> None:
    found = objections(proven(covered(0, 3)), proven(covered(2, 4), number=2))
    assert found[0].found == f"{TOPIC}/0 [2, 3) is covered twice"


def test_a_gap_that_leaves_a_hole_is_named() -> None:
    found = objections(Gap(covered(2, 4), "ann", "expired"))
    assert found[0].found == f"{TOPIC}/0 [0, 2) is covered by no entry"


def test_a_seek_over_delivered_offsets_is_named() -> None:
    back = Seek(TOPIC, TOPIC_ID, 0, 3, 1, "ann", "again")
    found = objections(proven(covered(0, 3)), back)
    assert found[0].found == f"{TOPIC}/0 [1, 3) was delivered, but a seek goes back over it"


def test_a_seek_from_elsewhere_than_the_end_is_named() -> None:
    found = objections(Seek(TOPIC, TOPIC_ID, 0, 2, 5, "ann", "skip"))
    assert found[0].found == f"{TOPIC}/0 [0, 2) is covered by no entry"


WHOLE = proven(covered(0, 3), bad=(1,))
OTHERS = (a_file("a", covered(0, 3), [0, 0]), content_of(WHOLE).files[1])
OUTSIDE = msgspec.structs.replace(content_of(WHOLE).evidence[0], offsets=OffsetSet.of([0, 1, 7]))


MISLAID = (a_file("a", covered(0, 3), [0, 1, 2]),)
STRAY = (*content_of(WHOLE).files, a_file("a", covered(7, 8), [7]))


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (changed(WHOLE, files=MISLAID), "written 3, quarantined 0"),
        (changed(WHOLE, files=STRAY), "has 4 rows for 3 records"),
        (changed(WHOLE, evidence=()), "has evidence for other ranges"),
        (changed(WHOLE, files=()), "read 3, written 0, quarantined 0"),
        (changed(WHOLE, files=OTHERS), "or other rows"),
        (changed(WHOLE, quarantined=()), "names 0 of 1 quarantined records"),
        (msgspec.structs.replace(WHOLE, counts=Counts(3, 3)), "but its evidence"),
        (changed(WHOLE, evidence=(OUTSIDE,)), "gave 3 records at the offsets"),
    ],
)
def test_a_window_that_does_not_add_up_is_named(window: Window, words: str) -> None:
    found = objections(window)
    assert any(words in each.found and each.entry == 1 for each in found), found
    assert all(each.ranges == (covered(0, 3),) for each in found if each.entry >= 0)


def test_rows_that_changed_hands_without_an_entry_are_noticed() -> None:
    ledger = Ledger()
    state = told()
    ledger.apply(next_entry(state, Start((begins(0, 0),))), Content())
    window = proven(covered(0, 3))
    ledger.apply(next_entry(state, window), content_of(window))
    assert list(row_differences(ledger)) == []
    ledger.files.clear()
    [difference] = row_differences(ledger)
    assert "3 rows were written" in difference.found


def test_a_watermark_elsewhere_than_the_entries_end_is_named() -> None:
    ledger = Ledger()
    state = told()
    ledger.apply(next_entry(state, Start((begins(0, 4),))), Content())
    [difference] = coverage_differences(state, ledger)
    assert difference.found == f"the entries of {TOPIC}/0 end at 4, but the watermark is nowhere"


def test_a_file_that_was_derived_again_counts_with_its_new_size() -> None:
    ledger, state = Ledger(), told()
    window = proven(covered(0, 3))
    [file] = content_of(window).files
    handle = msgspec.structs.replace(file.handle, size_bytes=11)
    anew = Content(files=(msgspec.structs.replace(file, handle=handle),))
    ledger.apply(next_entry(state, Start((begins(0, 0),))), Content())
    ledger.apply(next_entry(state, window), content_of(window))
    assert ledger.recorded[handle.final].size_bytes == 10
    replace = Replace(window="1-1", groups=(), content=anew, number=0)
    ledger.apply(next_entry(state, replace), anew)
    assert ledger.recorded[handle.final].size_bytes == 11
    assert list(row_differences(ledger)) == []
