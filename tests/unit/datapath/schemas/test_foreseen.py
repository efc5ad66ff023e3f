"""Datasets that can be named before a record of them was read: by a schema, or by a topic."""

import io
import json
import struct
from typing import Literal

import fastavro
import pytest

from penstock.datapath.schemas.learning import Learning
from penstock.datapath.stage.shred_plan import TaskReport
from penstock.model.layout import Layout
from penstock.model.spec import DatasetSpec, DecodeSpec, FeedSpec, RouteSpec
from penstock.ports.registry.registry import Registry
from penstock.testing.memory_store import MemoryStore
from tests.helpers.shredding import TOPIC, shred

SCHEMA = {"type": "record", "name": "Click", "fields": [{"name": "n", "type": "long"}]}
BY_SCHEMA, BY_TOPIC = RouteSpec("schema", "schema"), RouteSpec("topic")


def feed_of(
    route: RouteSpec, unknown: Literal["create", "quarantine"] = "create", fixed: str = ""
) -> FeedSpec:
    decode = DecodeSpec("avro", schema_text=fixed)
    return FeedSpec(name="f", topics=(TOPIC,), decode=decode, route=route, unknown=unknown)


def learning_for(feed: FeedSpec) -> Learning:
    answer = json.dumps({"schema": json.dumps(SCHEMA)}).encode()
    registry = Registry("http://registry", lambda _url: (200, answer))
    return Learning(MemoryStore(), Layout("f"), feed, registry)


def framed(*numbers: int) -> list[bytes]:
    """Records that name their schema."""
    found = []
    for number in numbers:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, SCHEMA, {"n": number})
        found.append(struct.pack(">bI", 0, 7) + stream.getvalue())
    return found


def report_on(feed: FeedSpec, learning: Learning, max_new: int = 10) -> TaskReport:
    """What a task says about some records, with what is known by now."""
    known, ready = learning.schemas.known, learning.named.ready()
    return shred(feed, framed(1, 2, 3), known, record_schemas=ready, max_new=max_new).report


@pytest.mark.parametrize(("route", "dataset"), [(BY_SCHEMA, "Click"), (BY_TOPIC, TOPIC)])
def test_a_dataset_is_learned_along_with_the_schema_that_its_records_name(
    route: RouteSpec, dataset: str
) -> None:
    feed = feed_of(route)
    learning = learning_for(feed)
    assert learning.learn([report_on(feed, learning)])
    assert set(learning.schemas.known) == {dataset}
    second = report_on(feed, learning)
    assert sum(file.evidence.count for file in second.files) == 3
    assert not learning.learn([second])


def test_where_a_field_names_the_dataset_the_next_read_tells_it() -> None:
    feed = feed_of(RouteSpec("field", "n"))
    learning = learning_for(feed)
    assert learning.learn([report_on(feed, learning)])
    assert learning.schemas.known == {}
    assert learning.learn([report_on(feed, learning)])
    assert set(learning.schemas.known) == {"1", "2", "3"}


def test_no_dataset_is_made_that_the_feed_does_not_want() -> None:
    feed = feed_of(BY_SCHEMA, unknown="quarantine")
    learning = learning_for(feed)
    assert learning.learn([report_on(feed, learning)])
    assert learning.schemas.known == {}
    second = report_on(feed, learning)
    assert second.reasons == {"ROUTE_UNKNOWN": 3}
    assert not learning.learn([second])


def test_a_declared_dataset_is_wanted_whatever_happens_to_unknown_ones() -> None:
    declared = (DatasetSpec("Click"),)
    feed = FeedSpec(
        name="f",
        topics=(TOPIC,),
        decode=DecodeSpec("avro"),
        route=BY_SCHEMA,
        unknown="quarantine",
        datasets=declared,
    )
    learning = learning_for(feed)
    assert learning.learn([report_on(feed, learning)], 0)
    assert set(learning.schemas.known) == {"Click"}


def test_what_there_is_no_room_for_is_not_foreseen() -> None:
    feed = feed_of(BY_SCHEMA)
    learning = learning_for(feed)
    assert learning.learn([report_on(feed, learning)], 0)
    assert learning.schemas.known == {}
    second = report_on(feed, learning, max_new=0)
    assert second.reasons == {"ROUTE_FLOOD": 3}
    assert not learning.learn([second], 0)


@pytest.mark.parametrize(("route", "dataset"), [(BY_SCHEMA, "Click"), (BY_TOPIC, TOPIC)])
def test_with_one_schema_for_all_records_datasets_are_known_before_the_first_read(
    route: RouteSpec, dataset: str
) -> None:
    feed = feed_of(route, fixed=json.dumps(SCHEMA))
    learning = learning_for(feed)
    learning.foresee([TOPIC, TOPIC])
    assert set(learning.schemas.known) == {dataset}
    version = learning.schemas.known[dataset]
    learning.foresee([TOPIC])
    assert learning.schemas.known[dataset] is version


def test_nothing_is_foreseen_of_records_that_name_their_schemas_or_have_none() -> None:
    learning = learning_for(feed_of(BY_TOPIC))
    learning.foresee([TOPIC])
    assert learning.schemas.known == {}


def test_more_topics_than_there_is_room_for_are_left_to_the_tasks() -> None:
    feed = feed_of(BY_TOPIC, fixed=json.dumps(SCHEMA))
    learning = learning_for(feed)
    learning.foresee(["a", "b", "c"], room=2)
    assert set(learning.schemas.known) == {"a", "b"}
