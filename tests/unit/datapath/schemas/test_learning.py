"""How many datasets a window may bring, whatever the number of its tasks."""

import json

import msgspec

from penstock.datapath.schemas.learning import Learning
from penstock.datapath.stage.shred_plan import TaskReport
from penstock.model.convert_spec import Condition
from penstock.model.fork import ForkSpec
from penstock.model.spec import DatasetSpec
from tests.helpers.learned_schemas import learning_of
from tests.helpers.shredding import BY_TYPE, an_event, shred


def flood(task: int, room: int, learning: Learning, *more: bytes) -> TaskReport:
    """What a task tells of a partition in which nearly every record has a type of its own."""
    values = [an_event(f"type-{task}-{n}", n=1) for n in range(50)]
    known = dict(learning.schemas.known)
    return shred(BY_TYPE, [*more, *values], known, max_new=room).report


def test_a_window_of_many_tasks_brings_no_more_datasets_than_one_task_may() -> None:
    learning, room = learning_of(BY_TYPE), 20
    reports = [flood(task, room, learning) for task in range(4)]
    assert learning.learn(reports, room)
    assert len(learning.schemas.known) == room
    again = [flood(task, 0, learning) for task in range(4)]
    assert not learning.learn(again, 0)
    assert sum(report.reasons.get("ROUTE_FLOOD", 0) for report in again) == 4 * 50 - room
    assert len(learning.schemas.known) == room


def test_of_too_many_datasets_those_are_learned_that_most_records_were_seen_of() -> None:
    learning = learning_of(BY_TYPE)
    usual = [an_event("usual", n=1)] * 3
    assert learning.learn([flood(task, 20, learning, *usual) for task in range(3)], 5)
    assert len(learning.schemas.known) == 5
    assert "usual" in learning.schemas.known


def test_datasets_of_the_configuration_need_no_room() -> None:
    fork = ForkSpec("copies", (Condition("n", (1,)),))
    feed = msgspec.structs.replace(BY_TYPE, datasets=(DatasetSpec("mine"),), forks=(fork,))
    learning = learning_of(feed)
    report = shred(feed, [an_event("mine", n=1), an_event("other", n=1)], {}, max_new=1).report
    assert {each.dataset for each in report.samples} == {"mine", "copies", "other"}
    assert learning.learn([report], 0)
    assert set(learning.schemas.known) == {"mine", "copies"}


def test_a_name_beyond_all_measure_is_no_column_and_asks_for_none() -> None:
    long, fits = "é" * 513, "é" * 512
    event = an_event("a", **{long: 1, fits: 2}, user={long: 3, "n": 4}, only={long: 5})
    learning = learning_of(BY_TYPE)
    assert learning.learn([shred(BY_TYPE, [event], {}).report])
    known = learning.schemas.known["a"]
    assert [field.name for field in known.fields] == ["type", "at", fits, "user"]
    done = shred(BY_TYPE, [event] * 20, learning.schemas.known)
    assert done.report.samples == ()
    [rest] = {row["_rest"] for row in done.rows("a")}
    assert json.loads(rest) == {long: 1, "user": {long: 3}, "only": {long: 5}}
    assert not learning.learn([done.report])
    assert learning.schemas.known["a"] == known
