"""Live files and quarantined records: an entry may only consume what is there, and done."""

from collections.abc import Mapping

import msgspec
import pytest

from penstock.model.entries import AnyBody, Drop, Generation, Replace, Replay, Retire
from penstock.model.evidence import Evidence
from penstock.model.lanes import part_of
from penstock.model.manifest import QUARANTINE, Content, Input, ManifestFile, RecordSet
from penstock.model.ranges import OffsetSet
from penstock.protocol.feed_book.inventory import Inventory, LiveFile
from penstock.protocol.feed_book.state import Undone
from tests.helpers.journals import (
    BEGINNING,
    a_compaction,
    a_file,
    covered,
    next_entry,
    told,
    window_of,
)
from tests.simulator.kafka import TOPIC, TOPIC_ID

ONE, TWO = a_file("a", covered(0, 2), [0, 1]), a_file("a", covered(2, 4), [3])
BOTH = a_file("a", covered(0, 4), [0, 1, 3], "both")
BAD = a_file(QUARANTINE, covered(2, 4), [2])
STATE = told(*BEGINNING)


def records(*offsets: int, dataset: str = "") -> RecordSet:
    return RecordSet(TOPIC, TOPIC_ID, 0, dataset, OffsetSet.of(offsets))


def finals(inventory: Inventory) -> set[str]:
    return set(inventory.files)


def an_inventory() -> Inventory:
    """Two files of data, one of quarantine, one bad record; all of entry 3."""
    inventory = Inventory()
    content = Content(files=(ONE, TWO, BAD), quarantined=(records(2),))
    body = window_of(content, covered(0, 4))
    inventory.apply(next_entry(STATE, body), content)
    return inventory


def undone_of(dataset: str) -> Undone:
    return Undone(3, "0" * 64, "1-1", [part_of(dataset)])


def why_not(
    body: AnyBody, content: Content, undone: Mapping[int, Undone] | None = None
) -> str | None:
    return an_inventory().objection(next_entry(STATE, body), content, undone or {})


def after(body: AnyBody, content: Content) -> Inventory:
    inventory = an_inventory()
    entry = next_entry(STATE, body, number=4)
    assert inventory.objection(entry, content, {}) is None
    inventory.apply(entry, content)
    return inventory


def taken(*finals: str) -> tuple[Input, ...]:
    return tuple(Input("a", final) for final in finals)


def compaction(*outputs: ManifestFile, inputs: tuple[str, ...]) -> tuple[AnyBody, Content]:
    content = Content(files=outputs, inputs=taken(*inputs))
    return a_compaction(content), content


def a_replay(content: Content) -> AnyBody:
    return Replay(window="1-x1", groups=(), content=content, author="me")


def a_drop(content: Content) -> AnyBody:
    return Drop(content=content, author="me", reason="test")


def a_retirement(content: Content) -> AnyBody:
    return Retire(window="1-x1", groups=(), content=content, author="me", reason="test")


INPUTS = (ONE.handle.final, TWO.handle.final)


def test_a_window_brings_files_and_quarantined_records() -> None:
    inventory = an_inventory()
    assert inventory.files[ONE.handle.final] == LiveFile(3, "a", ONE.evidence)
    assert inventory.records == {(TOPIC, TOPIC_ID, 0, "", 0): OffsetSet.of([2])}


def test_a_compaction_takes_its_inputs_out_and_its_output_in() -> None:
    inventory = after(*compaction(BOTH, inputs=INPUTS))
    assert finals(inventory) == {BOTH.handle.final, BAD.handle.final}
    assert inventory.files[BOTH.handle.final].number == 4


def test_an_input_that_is_not_live_is_refused() -> None:
    gone = (*INPUTS, "feed/a/gone")
    assert why_not(*compaction(BOTH, inputs=gone)) == (
        "its input 'feed/a/gone' is not live any more"
    )


def test_an_input_named_twice_is_refused() -> None:
    assert why_not(*compaction(BOTH, inputs=(*INPUTS, INPUTS[0]))) == "an input is named twice"


def test_an_input_of_an_entry_that_is_not_done_is_refused() -> None:
    """A sleeping owner could bring it back after it was removed."""
    why = why_not(*compaction(BOTH, inputs=INPUTS), undone={3: undone_of("a")})
    assert "belongs to entry 3, which is not done" in str(why)


def test_another_dataset_of_the_same_entry_may_be_undone() -> None:
    """Goal: one dataset that is parked holds no other back."""
    assert why_not(*compaction(BOTH, inputs=INPUTS), undone={3: undone_of("b")}) is None


def test_an_input_is_consumed_once() -> None:
    body, content = compaction(BOTH, inputs=INPUTS)
    inventory = after(body, content)
    why = inventory.objection(next_entry(STATE, body, number=5), content, {})
    assert "is not live any more" in str(why)


def test_an_output_that_is_there_already_is_refused() -> None:
    body, content = compaction(ONE, inputs=(TWO.handle.final,))
    assert "is there already" in str(why_not(body, content))


@pytest.mark.parametrize("offsets", [[0, 1], [0, 1, 3, 3], [0, 1, 2], [0, 0, 3]])
def test_a_compaction_gives_the_rows_it_takes(offsets: list[int]) -> None:
    wrong = a_file("a", covered(0, 4), offsets, "both")
    assert "it takes 3 rows" in str(why_not(*compaction(wrong, inputs=INPUTS)))


def test_retention_takes_files_and_gives_none() -> None:
    content = Content(inputs=taken(*INPUTS))
    assert finals(after(a_retirement(content), content)) == {BAD.handle.final}
    giving = Content(inputs=taken(*INPUTS), files=(BOTH,))
    assert "gives 3 others" in str(why_not(a_retirement(giving), giving))


def test_a_replay_turns_bad_records_into_rows() -> None:
    content = Content(files=(a_file("a", covered(2, 3), [2], "again"),), records=(records(2),))
    inventory = after(a_replay(content), content)
    assert inventory.records == {(TOPIC, TOPIC_ID, 0, "", 0): OffsetSet()}
    assert "feed/a/again" in inventory.files


def test_a_replay_of_records_that_are_not_in_the_quarantine_is_refused() -> None:
    for wrong in (records(2, 3), records(2, dataset="b")):
        content = Content(records=(wrong,))
        assert "are not live any more" in str(why_not(a_replay(content), content))


def test_a_replay_must_deliver_exactly_the_records_it_takes() -> None:
    for offsets in ([3], [2, 2], []):
        file = a_file("a", covered(2, 4), offsets, "again")
        content = Content(files=(file,), records=(records(2),))
        assert "it takes 1 rows" in str(why_not(a_replay(content), content))


def test_a_drop_gives_records_up_once() -> None:
    content = Content(records=(records(2),))
    inventory = after(a_drop(content), content)
    assert inventory.records == {(TOPIC, TOPIC_ID, 0, "", 0): OffsetSet()}
    why = inventory.objection(next_entry(STATE, a_drop(content)), content, {})
    assert "are not live any more" in str(why)


def test_a_drop_delivers_nothing() -> None:
    content = Content(files=(BOTH,), records=(records(2),))
    assert "it takes 0 rows" in str(why_not(a_drop(content), content))


def test_a_generation_exchanges_old_files_and_records_for_new_files() -> None:
    anew = a_file("a", covered(0, 4), range(4), "anew")
    content = Content(files=(anew,), inputs=taken(*INPUTS), records=(records(2),))
    body = Generation(
        window="1-x1", groups=(), content=content, generation=1, ranges=(covered(0, 4),)
    )
    inventory = after(body, content)
    assert finals(inventory) == {"feed/a/anew", BAD.handle.final}
    assert inventory.files["feed/a/anew"].evidence == Evidence.of_positions("events", 0, range(4))


def test_a_replacement_changes_nothing_that_readers_may_trust() -> None:
    content = Content(files=(ONE,))
    body = Replace(window="1-1", groups=(), content=content, number=3)
    assert after(body, content).files == an_inventory().files


def test_a_record_that_is_named_twice_is_refused() -> None:
    """Else one replay could deliver it twice and still give what it takes."""
    twice = (records(2), records(2))
    file = a_file("a", covered(2, 3), [2, 2], "twice")
    content = Content(files=(file,), records=twice)
    assert "not live any more" in str(why_not(a_replay(content), content))


def test_a_compaction_must_not_move_rows_between_datasets() -> None:
    """Goal: the balance is per dataset. Method: give the rows of `a` as rows of `b`."""
    moved = msgspec.structs.replace(BOTH, dataset="b")
    assert "rows of a and gives 0" in str(why_not(*compaction(moved, inputs=INPUTS)))


def test_an_empty_set_of_records_of_a_partition_that_quarantined_none_is_refused() -> None:
    nowhere = RecordSet(TOPIC, "nope", 9, "", OffsetSet())
    content = Content(records=(records(2), nowhere))
    wanted = "no record of its partition 9 was ever quarantined"
    assert why_not(a_drop(content), content) == wanted
    known = Content(records=(records(2), records()))
    assert why_not(a_drop(known), known) is None
