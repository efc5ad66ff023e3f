"""The schemas that records name: learned once, kept in the lake, compared whenever it is possible.

The registry is a dict that can be switched off; the lake is in memory.
"""

import threading
from typing import Literal

import pytest

from penstock.datapath.schemas.errors import SchemaChanged
from penstock.datapath.schemas.named_schemas import MAX_ASKED, MOST_ODD, NamedSchemas
from penstock.datapath.schemas.registry_backoff import MOST_REMEMBERED
from penstock.datapath.stage.decode_by_schema import FIXED
from penstock.errors import EntryDamaged, OutcomeUnknown
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import DecodeSpec
from penstock.ports.registry.errors import (
    RegistryDown,
    RegistryRefused,
    RegistryTrouble,
    RegistryWrong,
)
from penstock.testing.memory_store import Act, Answer, MemoryStore
from tests.helpers.registered_schemas import ONE, URL, Registered, kept, shelf_of

TWO = RegisteredSchema("protobuf", "message A {}", (("a.proto", "message B {}"),))


def test_a_schema_is_asked_for_once_and_kept_in_the_lake() -> None:
    store, registry = MemoryStore(), Registered(id1=ONE, id2=TWO)
    shelf = shelf_of(store, registry)
    assert shelf.learn(["2", "1", "2"])
    assert not shelf.learn(["1", "2"])
    shelf.begin()
    assert not shelf.learn(["1"])
    assert shelf.known == {"1": ONE, "2": TWO}
    assert registry.asked == ["1", "2"]
    assert sorted(kept(store)) == [
        "_penstock/events/registry/1.json",
        "_penstock/events/registry/2.json",
    ]


def test_a_guid_is_kept_under_a_name_that_every_store_takes() -> None:
    store, key = MemoryStore(), "guid:0b2f7d0e-6f0c-4c0b-9d2e-1d2a3b4c5d6e"
    registry = Registered()
    registry.schemas[key] = ONE
    shelf_of(store, registry).learn([key])
    [place] = kept(store)
    assert ":" not in place
    registry.is_up = False
    later = shelf_of(store, registry)
    assert later.known == {key: ONE}
    assert not later.learn([key])


def test_the_next_run_goes_on_with_what_the_lake_has_while_the_registry_is_down() -> None:
    store, registry = MemoryStore(), Registered(id1=ONE, id2=TWO)
    shelf_of(store, registry).learn(["1", "2"])
    registry.is_up = False
    shelf = shelf_of(store, registry)
    assert not shelf.learn(["1", "2"]), "else its first window would be read twice"
    assert shelf.known == {"1": ONE, "2": TWO}
    assert registry.asked == ["1", "2", "1"], "who does not answer is not waited for twice"
    assert not shelf.learn(["1", "2"])
    assert registry.asked == ["1", "2", "1"], "nor again in the same window"


def test_whether_an_id_means_the_same_is_asked_until_somebody_answers_but_ever_more_seldom() -> (
    None
):
    store, registry = MemoryStore(), Registered(id1=ONE, id2=TWO)
    shelf_of(store, registry).learn(["1", "2"])
    registry.is_up, registry.asked = False, []
    shelf = shelf_of(store, registry)
    asked = []
    for _ in range(20):
        shelf.begin()
        assert not shelf.learn(["1", "2"])
        asked.append(len(registry.asked))
    assert asked == [1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5]
    registry.is_up, registry.schemas["2"] = True, ONE
    for _ in range(12):
        shelf.begin()
    with pytest.raises(SchemaChanged):
        shelf.learn(["1", "2"])
    assert registry.asked[5:] == ["1", "2"], "once it answers, all that waited are asked for"


def test_an_id_of_the_lake_that_was_met_while_the_registry_was_down_is_asked_for_later() -> None:
    """Method: another run has kept it after this one began, so that it is new to this one."""
    store, registry = MemoryStore(), Registered(id1=ONE)
    early = shelf_of(store, registry)
    shelf_of(store, registry).learn(["1"])
    registry.is_up = False
    assert early.learn(["1"])
    registry.is_up, registry.schemas["1"] = True, TWO
    early.begin()
    with pytest.raises(SchemaChanged):
        early.learn(["1"])


def test_the_next_run_begins_with_all_that_the_lake_has() -> None:
    """Goal: it reads no window twice. Method: the registry answers, and is asked once an id."""
    store, registry = MemoryStore(), Registered(id1=ONE, id2=TWO)
    shelf_of(store, registry).learn(["1", "2"])
    later = shelf_of(store, registry)
    assert later.known == {"1": ONE, "2": TWO}
    assert not later.learn(["1"])
    assert not later.learn(["1", "2"])
    assert registry.asked == ["1", "2", "1", "2"]
    assert later.known == {"1": ONE, "2": TWO}


def test_what_another_run_has_kept_meanwhile_is_found_in_the_lake() -> None:
    store, registry = MemoryStore(), Registered(id1=ONE)
    early = shelf_of(store, registry)
    shelf_of(store, registry).learn(["1"])
    registry.is_up = False
    assert early.learn(["1"])
    assert early.known == {"1": ONE}


def test_objects_of_other_names_are_left_alone() -> None:
    store, registry = MemoryStore(), Registered(id1=ONE)
    shelf_of(store, registry).learn(["1"])
    [(place, raw)] = kept(store).items()
    for other in ("1.json.tmp", "notes.txt", "%31.json", f"{'a' * 99}~0.json"):
        store.shelf = store.shelf.with_object(f"{place.rpartition('/')[0]}/{other}", raw)
    assert shelf_of(store, registry).known == {"1": ONE}


def test_the_next_run_asks_whether_an_id_still_means_the_same_and_only_once() -> None:
    store, registry = MemoryStore(), Registered(id1=ONE)
    shelf_of(store, registry).learn(["1"])
    later = shelf_of(store, registry)
    later.learn(["1"])
    later.begin()
    later.learn(["1"])
    assert registry.asked == ["1", "1"]


def test_an_id_that_only_the_registry_knows_is_not_guessed_while_it_is_down() -> None:
    """Goal: it holds up nothing else. Method: an id of the lake comes after it in order."""
    store, registry = MemoryStore(), Registered(id1=ONE, id2=TWO)
    shelf_of(store, registry).learn(["2"])
    registry.is_up = False
    shelf = shelf_of(store, registry)
    with pytest.raises(RegistryDown, match="switched off"):
        shelf.learn(["1", "2"])
    assert shelf.known == {"2": TWO}
    assert not shelf.learn(["2"])
    registry.is_up = True
    assert shelf.learn(["1", "2"])
    assert shelf.known == {"1": ONE, "2": TWO}


def test_what_is_not_there_is_none_for_this_window_and_asked_for_again_in_the_next() -> None:
    store, registry = MemoryStore(), Registered()
    shelf = shelf_of(store, registry)
    assert shelf.learn(["1"])
    assert shelf.known == {"1": None}
    assert not shelf.learn(["1"]), "else a window would be read for ever"
    assert registry.asked == ["1"]
    assert kept(store) == {}
    registry.schemas["1"] = ONE
    shelf.begin()
    assert shelf.learn(["1"])
    assert shelf.known == {"1": ONE}


def test_a_registry_that_has_forgotten_an_id_changes_nothing() -> None:
    store, registry = MemoryStore(), Registered(id1=ONE)
    shelf_of(store, registry).learn(["1"])
    registry.schemas.clear()
    later = shelf_of(store, registry)
    later.learn(["1"])
    assert later.known == {"1": ONE}


@pytest.mark.parametrize(
    "other",
    [
        RegisteredSchema("avro", '"long"'),
        RegisteredSchema("json", ONE.text),
        RegisteredSchema("avro", ONE.text, (("a", "b"),)),
    ],
    ids=["text", "type", "references"],
)
def test_an_id_that_means_something_else_in_a_later_run_is_an_error(
    other: RegisteredSchema,
) -> None:
    store, registry = MemoryStore(), Registered(id1=ONE)
    shelf_of(store, registry).learn(["1"])
    registry.schemas["1"] = other
    later = shelf_of(store, registry)
    with pytest.raises(SchemaChanged, match=r"for 1 .*registry\.url") as caught:
        later.learn(["1"])
    assert caught.value.exit_code == 5
    assert caught.value.key == "1"
    assert "1" not in later.known


RECORD = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":1}]}'
SPACED = """{"name": "\\u0052", "fields": [ {"type": "int", "name": "a", "default": 1} ],
    "type": "record"}"""


@pytest.mark.parametrize("kind", ["avro", "json"])
def test_a_schema_that_is_only_written_in_another_way_is_the_same(
    kind: Literal["avro", "json"],
) -> None:
    """Some registries format what they are asked for, and another version does it otherwise."""
    before = RegisteredSchema(kind, RECORD, (("n", RECORD),))
    now = RegisteredSchema(kind, SPACED, (("n", SPACED),))
    store, registry = MemoryStore(), Registered(id1=before)
    shelf_of(store, registry).learn(["1"])
    registry.schemas["1"] = now
    later = shelf_of(store, registry)
    assert not later.learn(["1"])
    assert later.known == {"1": before}, "what the lake has goes on"


def test_of_two_ways_to_write_a_schema_the_one_that_the_lake_has_is_taken() -> None:
    """Two that run at the same time: the second finds the first one's words in the lake."""
    store = MemoryStore()
    mine, other = RegisteredSchema("avro", RECORD), RegisteredSchema("avro", SPACED)

    def ask(act: Act) -> Answer:
        if act.name == "create":
            shelf_of(store, Registered(id1=other)).learn(["1"])
        return store.ask(act)

    shelf = shelf_of(MemoryStore(ask), Registered(id1=mine))
    assert shelf.learn(["1"])
    assert shelf.known == {"1": other}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("avro", RECORD.replace('"default":1', '"default":true')),
        ("avro", RECORD.replace('"default":1', '"default":1.0')),
        ("avro", RECORD.replace('"a"', '"b"')),
        ("avro", RECORD + "x"),
        ("protobuf", RECORD),
        ("json", RECORD),
    ],
)
def test_a_schema_that_says_something_else_is_another(
    kind: Literal["avro", "json", "protobuf"], text: str
) -> None:
    before = RegisteredSchema("avro", RECORD)
    assert before.is_same(before)
    assert not before.is_same(RegisteredSchema(kind, text))
    assert not before.is_same(RegisteredSchema("avro", RECORD, (("n", RECORD),)))
    protobuf = RegisteredSchema("protobuf", "message A {}")
    assert not protobuf.is_same(RegisteredSchema("protobuf", "message A { }"))


def test_an_id_that_meant_something_else_to_another_is_an_error() -> None:
    """Two that run at the same time, with two registries: the second finds the first one's word."""
    store = MemoryStore()
    mine, other = Registered(id1=ONE), Registered(id1=TWO)

    def ask(act: Act) -> Answer:
        if act.name == "create":
            shelf_of(store, other).learn(["1"])
        return store.ask(act)

    shelf = shelf_of(MemoryStore(ask), mine)
    with pytest.raises(SchemaChanged):
        shelf.learn(["1"])
    assert "1" not in shelf.known


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0\0",
        b"\xff",
        b'{"type": "avro", "text": "\xff"}',
        b"{}",
        b'{"type": "xml", "text": ""}',
        b'{"type": "avro", "text": "',
    ],
)
def test_a_damaged_object_in_the_lake_is_an_error_and_not_asked_for_anew(raw: bytes) -> None:
    store, registry = MemoryStore(), Registered(id1=ONE)
    shelf_of(store, registry).learn(["1"])
    [place] = kept(store)
    store.shelf = store.shelf.with_object(place, raw)
    shelf = shelf_of(store, registry)  # as long as no record names it, it harms nobody
    assert shelf.known == {}
    with pytest.raises(EntryDamaged, match=r"not a schema|no codec reads a schema of 'xml'"):
        shelf.learn(["1"])
    assert kept(store) == {place: raw}


def test_two_that_learn_at_the_same_time_end_with_one_object() -> None:
    store, registry = MemoryStore(), Registered(id1=ONE, id2=TWO)
    shelves = [shelf_of(store, registry) for _ in range(8)]
    together = threading.Barrier(len(shelves))

    def learn(shelf: NamedSchemas) -> None:
        together.wait(10)
        shelf.learn(["1", "2"])

    threads = [threading.Thread(target=learn, args=(shelf,)) for shelf in shelves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(shelf.known == {"1": ONE, "2": TWO} for shelf in shelves)
    assert len(kept(store)) == 2


def test_an_object_whose_reply_was_lost_is_recognised() -> None:
    store, registry = MemoryStore(), Registered(id1=ONE)
    lost: list[str] = []

    def ask(act: Act) -> Answer:
        answer = store.ask(act)
        if act.name == "create" and not lost:
            lost.append(act.key)
            raise OutcomeUnknown("create", act.key, "no reply")
        return answer

    shelf = shelf_of(MemoryStore(ask), registry)
    assert shelf.learn(["1"])
    assert shelf.known == {"1": ONE}
    assert list(kept(store)) == lost


def test_the_schema_of_the_configuration_needs_no_registry() -> None:
    store = MemoryStore()
    shelf = shelf_of(store, None, DecodeSpec("avro", schema_text='"string"'))
    assert shelf.known == {FIXED: ONE}
    assert not shelf.learn([FIXED])
    shelf.begin()
    assert shelf.known == {FIXED: ONE}
    assert kept(store) == {}


def test_without_a_registry_every_id_is_unknown() -> None:
    shelf = shelf_of(MemoryStore(), None)
    assert shelf.learn(["1"])
    assert shelf.known == {"1": None}


def test_records_can_have_the_registry_asked_for_so_many_ids_in_a_window_and_no_more() -> None:
    """Garbage of twenty thousand ids, and one true id among the smallest."""
    store, registry = MemoryStore(), Registered(id7=ONE)
    shelf = shelf_of(store, registry)
    garbage = [str(number) for number in range(20_000)]
    shelf.begin()
    assert shelf.learn(garbage)
    assert len(registry.asked) == MAX_ASKED
    assert shelf.known["7"] == ONE
    assert set(shelf.known) == set(garbage), "the rest counts as absent for this window"
    assert not shelf.learn(garbage), "else it would be read for ever"
    assert len(registry.asked) == MAX_ASKED
    shelf.begin()
    assert len(shelf.known) <= MOST_REMEMBERED + 1, "what was not asked for is not remembered"


def test_what_is_not_there_is_asked_for_ever_more_seldom_and_found_when_it_comes() -> None:
    store, registry = MemoryStore(), Registered()
    shelf = shelf_of(store, registry)
    asked = []
    for window in range(12):
        shelf.begin()
        assert shelf.learn(["1"]) == (window == 0), "a window is not read twice for nothing"
        asked.append(len(registry.asked))
    assert asked == [1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4]
    registry.schemas["1"] = ONE
    found = []
    for _ in range(64):
        shelf.begin()
        found.append(shelf.learn(["1"]))
    assert found.count(True) == 1
    assert shelf.known == {"1": ONE}


def test_what_was_not_there_is_not_guessed_either_while_the_registry_is_down() -> None:
    store, registry = MemoryStore(), Registered()
    shelf = shelf_of(store, registry)
    shelf.learn(["1"])
    registry.is_up = False
    shelf.begin()
    with pytest.raises(RegistryDown):
        shelf.learn(["1"])
    assert "1" not in shelf.known


def test_an_id_that_no_registry_can_have_is_never_asked_for() -> None:
    registry = Registered()
    registry.is_up = False
    shelf = shelf_of(MemoryStore(), registry)
    for number in range(3):
        shelf.begin()
        assert shelf.learn([str(2**31), str(2**32 - 1)]) == (number == 0)
    assert registry.asked == []
    assert shelf.known == {str(2**31): None, str(2**32 - 1): None}


def test_a_schema_that_cannot_be_used_is_not_kept_since_it_may_be_mended() -> None:
    why = RegisteredSchema("unusable", "it refers to b/2, which is not there")
    store, registry = MemoryStore(), Registered(id1=why)
    shelf = shelf_of(store, registry)
    assert shelf.learn(["1"])
    assert not shelf.learn(["1"])
    assert shelf.ready() == {"1": why}
    assert kept(store) == {}
    registry.schemas["1"] = ONE
    shelf.begin()
    assert shelf.learn(["1"])
    assert shelf.known == {"1": ONE}
    registry.schemas["1"] = why
    later = shelf_of(store, registry)
    assert not later.learn(["1"]), "what is known stays known"
    assert later.known == {"1": ONE}


TROUBLES = [
    RegistryDown(URL, "it answered 503"),
    RegistryRefused(URL, 401),
    RegistryWrong(URL, "its answer is not a schema"),
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=["down", "refused", "wrong"])
def test_whatever_a_registry_says_instead_of_schemas_known_ids_go_on_and_others_wait(
    trouble: RegistryTrouble,
) -> None:
    """Behind a proxy, one that is down may be a login page, a refusal, or 404 for all addresses."""
    store, registry = MemoryStore(), Registered(id1=ONE, id2=TWO)
    shelf_of(store, registry).learn(["1"])
    registry.is_up, registry.trouble = False, trouble
    shelf = shelf_of(store, registry)
    assert not shelf.learn(["1"]), "at the check of a known id"
    with pytest.raises(type(trouble)):
        shelf.learn(["1", "2"])
    assert shelf.known == {"1": ONE}
    registry.is_up = True
    assert shelf.learn(["1", "2"])
    assert shelf.known == {"1": ONE, "2": TWO}


@pytest.mark.parametrize("trouble", TROUBLES[1:], ids=["refused", "wrong"])
def test_an_id_that_a_registry_has_no_sound_answer_for_holds_up_no_other(
    trouble: RegistryTrouble,
) -> None:
    """Goal: nobody waits for ever behind an id that comes first in order."""
    store, registry = MemoryStore(), Registered(id2=ONE, id3=TWO)
    registry.odd, registry.trouble = {"1", "3"}, trouble
    shelf = shelf_of(store, registry)
    with pytest.raises(type(trouble)):
        shelf.learn(["1", "2"])
    assert shelf.known == {"2": ONE}
    registry.odd = {"1"}
    shelf.learn(["3"])
    registry.schemas["3"], registry.odd = ONE, {"2"}
    later = shelf_of(store, registry)
    with pytest.raises(SchemaChanged):
        later.learn(["2", "3"])


def test_a_registry_that_is_odd_about_many_ids_is_left_alone_for_a_while() -> None:
    registry = Registered()
    registry.odd, registry.trouble = set(map(str, range(500))), TROUBLES[2]
    shelf = shelf_of(MemoryStore(), registry)
    with pytest.raises(RegistryWrong):
        shelf.learn(registry.odd)
    assert len(registry.asked) == MOST_ODD
    assert shelf.known == {}
