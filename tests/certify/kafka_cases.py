"""Faults of Kafka: brokers that go, logs that are cut, topics that are replaced or odd."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.feeds.runner import Runner
from penstock.model.spec import TimeSpec, WindowSpec
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.kafka_client import Record
from tests.certify.case import Case, Run
from tests.certify.counting import outcome
from tests.certify.oracle import tally_lake
from tests.certify.table import Outcome
from tests.integration import test_kafka_faults as everyday
from tests.integration import test_slice
from tests.integration.lakes import (
    AROUND,
    IMPATIENT,
    event,
    feed_tools,
    mixed_feed,
    refused_in,
    rows_in,
    run_once,
    run_through,
    watermarks,
)
from tests.integration.processes import wait_for

# What the tests of everyday show on the same parts, counted here.
EVERYDAY: dict[tuple[str, ...], tuple[Callable[..., None], tuple[str, ...]]] = {
    ("K1",): (
        everyday.test_k1_a_broker_that_is_killed_and_comes_back_is_waited_for,
        ("spark", "other"),
    ),
    ("K5", "K9", "K11"): (
        everyday.test_k5_k9_k11_c3_a_running_application_while_topics_change,
        ("spark", "kafka", "client"),
    ),
    ("K6",): (
        everyday.test_k6_a_topic_made_again_and_shorter_than_our_watermark_halts_the_feed,
        ("spark", "kafka", "client"),
    ),
    ("K7",): (
        test_slice.test_a_recreated_topic_stops_the_feed_and_moves_nothing,
        ("spark", "kafka", "client"),
    ),
    ("K8",): (
        everyday.test_s23_k8_c6_two_clusters_with_equal_names_and_one_of_them_down,
        ("spark", "kafka", "client", "other"),
    ),
    ("K9",): (
        everyday.test_k9_a_gap_stops_with_its_exact_range_and_is_accepted_only_by_a_journal_entry,
        ("spark", "kafka", "client"),
    ),
    ("K10",): (
        everyday.test_k10_records_that_expire_between_plan_and_read_fail_the_read_and_then_name_the_gap,
        ("spark", "kafka", "client"),
    ),
    ("K12",): (
        everyday.test_c5_a_compacted_topic_with_tombstones_null_keys_and_headers_is_no_loss,
        ("spark", "other"),
    ),
    ("K13", "K14"): (
        everyday.test_k13_k14_c5_markers_anywhere_aborted_and_open_transactions,
        ("spark", "kafka", "client"),
    ),
}


def cases() -> Iterator[Case]:
    """K1 to K15."""
    for ids, (body, needs) in EVERYDAY.items():
        yield Case("+".join(ids) + "/everyday", ids, partial(shown_by, body, needs), 15.0)
    yield Case("K2", ("K2",), rolling_bounce, 60.0)
    yield Case("K3", ("K3",), leader_moves, 60.0)
    yield Case("K4", ("K4",), unclean_election, 60.0)
    yield Case("K11", ("K11",), more_partitions, 10.0)
    yield Case("K15", ("K15",), odd_timestamps, 10.0)


def shown_by(body: Callable[..., None], needs: tuple[str, ...], run: Run) -> Outcome:
    """A test of everyday on our parts; then the oracle on what it left."""
    body(*(getattr(run.parts, need) for need in needs), run.directory)
    lake = run.directory
    if not (lake / "_penstock").exists():
        lake = lake / "lake"
    return outcome(tally_lake(run.parts, lake, whole=False))


def while_running(run: Run, topic: str, act: Callable[[], None]) -> str:
    """Deliver without a pause from three brokers while something happens to them."""
    over = threading.Event()
    failed: list[BaseException] = []

    def acting() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001  told by the case
            failed.append(error)
        finally:
            over.set()

    feed = mixed_feed(topic, window=WindowSpec(every_s=0.1))
    servers = {"bootstrap.servers": run.parts.three.bootstrap, **IMPATIENT}
    store = LocalStore(run.directory)
    tools = feed_tools(run.parts.spark, servers, store, AROUND)
    told: list[str] = []
    runner = Runner((feed,), tools, lambda event: told.append(event.sentence), over.is_set)
    thread = threading.Thread(target=acting)
    thread.start()
    code = runner.run()
    thread.join()
    if failed:
        return f"the brokers did not do as they were told: {failed[0]}"
    if code != 0:
        return f"ended with {code}: {told[-1:]}"
    code, told = run_once(run.parts.spark, run.parts.three, run.directory, mixed_feed(topic))
    return "" if code == 0 else f"the end of it ended with {code}: {told[-1:]}"


def produce_more(run: Run, topic: str, partitions: int, first: int, count: int = 40) -> None:
    """Some events to every partition."""
    for partition in range(partitions):
        run.parts.three_client.produce(
            topic, partition, [event("ab"[n % 2], n) for n in range(first, first + count)]
        )


def rolling_bounce(run: Run) -> Outcome:
    """Every broker is restarted, one after the other, while records come and go."""
    topic = run.word
    run.parts.three_client.create_topic(topic, partitions=3)
    produce_more(run, topic, 3, 0)

    def bounce() -> None:
        for node in (1, 2, 3):
            run.parts.three.restart(node)
            produce_more(run, topic, 3, 100 * node)

    problem = while_running(run, topic, bounce)
    return outcome(tally_lake(run.parts, run.directory), problem)


def leader_moves(run: Run) -> Outcome:
    """The leader of every partition is killed, another leads, and the first leads again."""
    topic, parts = run.word, run.parts
    admin = AdminClient({"bootstrap.servers": parts.three.bootstrap})
    wanted = NewTopic(topic, 2, replica_assignment=[[1, 2, 3], [1, 3, 2]])
    admin.create_topics([wanted])[topic].result(60)
    wait_for(lambda: leaders(admin, topic) == {0: 1, 1: 1}, "leaders")
    produce_more(run, topic, 2, 0)

    def move() -> None:
        parts.three.kill(1)
        wait_for(lambda: 1 not in leaders(admin, topic).values(), "other leaders")
        produce_more(run, topic, 2, 100)
        parts.three.restart(1)
        wait_for(lambda: elected(parts.spark, parts.three.bootstrap, topic), "an election")
        wait_for(lambda: leaders(admin, topic) == {0: 1, 1: 1}, "the old leaders")
        produce_more(run, topic, 2, 200)

    problem = while_running(run, topic, move)
    return outcome(tally_lake(run.parts, run.directory), problem)


def leaders(admin: AdminClient, topic: str) -> dict[int, int]:
    """Who leads each partition; -1 for nobody."""
    found = admin.list_topics(topic, timeout=30).topics[topic].partitions
    return {partition: each.leader for partition, each in found.items()}


def elected(spark: object, bootstrap: str, topic: str) -> bool:
    """Ask for the preferred leaders, by Kafka's own client; False while they are not in sync."""
    jvm = getattr(spark, "_jvm")  # noqa: B009  pyspark's door to Java has no public name
    properties = jvm.java.util.Properties()
    properties.setProperty("bootstrap.servers", bootstrap)
    client = jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
    places = jvm.java.util.HashSet()
    for partition in (0, 1):
        places.add(jvm.org.apache.kafka.common.TopicPartition(topic, partition))
    try:
        kind = jvm.org.apache.kafka.common.ElectionType.PREFERRED
        client.electLeaders(kind, places).all().get()
    except Exception as error:  # noqa: BLE001  Java's; the next try may do
        return "ElectionNotNeeded" in str(error)
    finally:
        client.close()
    return True


def unclean_election(run: Run) -> Outcome:
    """The one broker that has the newest records is gone, an older one leads: both are noticed."""
    topic, parts = run.word, run.parts
    admin = AdminClient({"bootstrap.servers": parts.three.bootstrap})
    config = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
    wanted = NewTopic(topic, 1, replica_assignment=[[1, 2]], config=config)
    admin.create_topics([wanted])[topic].result(60)
    wait_for(lambda: leaders(admin, topic) == {0: 1}, "a leader")
    feed = mixed_feed(topic)
    spark, three, client = parts.spark, parts.three, parts.three_client
    client.produce(topic, 0, [event("a", n) for n in range(50)])
    three.kill(2)
    try:
        client.produce(topic, 0, [event("a", n) for n in range(50, 80)])
        assert run_once(spark, three, run.directory, feed)[0] == 0
        client.remember(topic)
        three.kill(1)
    finally:
        three.restart(2)
    wait_for(lambda: leaders(admin, topic) == {0: 2}, "the unclean leader")
    first = run_once(spark, three, run.directory, feed)
    client.produce(topic, 0, [event("b", n) for n in range(60)])
    second = run_once(spark, three, run.directory, feed)
    three.restart(1)
    problem = ""
    for (code, told), word in ((first, "LOG_TRUNCATED"), (second, "LOG_REWRITTEN")):
        if code != 5 or word not in told[-1]:
            problem = problem or f"ended with {code} and not {word}: {told[-1:]}"
    if watermarks(run.directory) != {(topic, 0): 80}:
        problem = problem or f"the watermark moved: {watermarks(run.directory)}"
    tally = tally_lake(parts, run.directory, whole=False)
    # The lake is right and Kafka is not: the audit has to say so, of this range, and nothing else.
    rewritten = f"the records of {topic}/0 [0, 80) have other contents in Kafka"
    told = [each for each in tally.problems if rewritten in each]
    if len(told) != 1:
        problem = problem or f"the audit did not tell once that {rewritten}: {tally.problems}"
    rest = tuple(each for each in tally.problems if each not in told)
    return outcome(replace(tally, problems=rest), problem)


def more_partitions(run: Run) -> Outcome:
    """Four partitions become eight under a running feed; the new ones are read from 0."""
    topic, client = run.word, run.parts.client
    client.create_topic(topic, partitions=4)
    for partition in range(4):
        client.produce(topic, partition, [event("a", n) for n in range(10)])

    def grow() -> None:
        client.add_partitions(topic, total=8)
        for partition in range(8):
            client.produce(topic, partition, [event("b", n) for n in range(100, 107)])

    store = LocalStore(run.directory)
    code, told = run_through(
        run.parts.spark, run.parts.kafka, store, (mixed_feed(topic),), [grow, lambda: None]
    )
    problem = "" if code == 0 else f"ended with {code}: {told[-1:]}"
    return outcome(tally_lake(run.parts, run.directory), problem)


def odd_timestamps(run: Run) -> Outcome:
    """Kafka's own timestamps of 1970, of the year 9999, and given by the broker."""
    client, (sent, appended) = run.parts.client, (f"{run.word}-sent", f"{run.word}-appended")
    forever = {"retention.ms": "-1", "message.timestamp.after.max.ms": str(2**63 - 1)}
    client.create_topic(sent, config=forever)
    client.create_topic(appended, config={"message.timestamp.type": "LogAppendTime"})
    now_ms = int(time.time() * 1000)
    times = [now_ms, 1, now_ms - 86_400_000, 253_402_300_799_000, now_ms]
    for topic in (sent, appended):
        client.produce(
            topic,
            0,
            [
                Record(json.dumps({"type": "a", "n": n}).encode(), timestamp_ms=at)
                for n, at in enumerate(times)
            ],
        )
    feed = mixed_feed(sent, appended, time=TimeSpec())
    code, told = run_once(run.parts.spark, run.parts.kafka, run.directory, feed)
    problem = "" if code == 0 else f"ended with {code}: {told[-1:]}"
    refused = {place: row["reason"] for place, row in refused_in(run.directory, "events")}
    wanted = {(sent, 0, 1): "TIME_TOO_EARLY", (sent, 0, 3): "TIME_TOO_LATE"}
    if refused != wanted:
        problem = problem or f"in the quarantine are {refused}"
    days = {row.below for place, row in rows_in(run.directory, "events") if place[0] == appended}
    if len(days) > 2:  # today, or two of them around midnight
        problem = problem or f"the broker's time gave the days {sorted(days)}"
    note = "a timestamp of -1 (message format 0) cannot be sent any more"
    return outcome(tally_lake(run.parts, run.directory), problem, note=note)
