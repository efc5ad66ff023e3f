"""The embedded broker is a real Kafka, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from penstock.spark.java import Java
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, Record
from penstock.testing.servers import ServerFailed

pytestmark = pytest.mark.xdist_group("processes")


def test_with_several_processes_all_tests_of_the_broker_go_to_one(
    request: pytest.FixtureRequest,
) -> None:
    """Goal: one broker per group. Method: the name shows whether the group counted."""
    is_grouping = getattr(request.config.option, "loadgroup", False)
    assert request.node.nodeid.endswith("@processes") == is_grouping


def test_a_thousand_records_over_two_partitions_come_back_as_written(client: KafkaClient) -> None:
    client.create_topic("thousand", partitions=2)
    written = {
        partition: [
            Record(
                b"v%d" % n, b"k%d" % n, (("h", b"%d" % n), ("none", None)), 1_700_000_000_000 + n
            )
            for n in range(500)
        ]
        for partition in (0, 1)
    }
    for partition, records in written.items():
        assert client.produce("thousand", partition, records) == list(range(500))

    read = client.read_all("thousand")

    assert [(row.partition, row.offset) for row in read] == [
        (partition, offset) for partition in (0, 1) for offset in range(500)
    ]
    for row in read:
        assert (
            Record(row.value, row.key, row.headers, row.timestamp_ms)
            == (written[row.partition][row.offset])
        )
    assert client.offsets("thousand") == {0: (0, 500), 1: (0, 500)}


def test_a_reader_of_committed_records_sees_no_aborted_and_no_open_ones(
    client: KafkaClient,
) -> None:
    client.create_topic("together", partitions=2)
    client.produce_together("together", {0: [b"a"], 1: [b"b"]}, keep=True)
    client.produce_together("together", {0: [b"never"], 1: [b"never"]}, keep=False)
    client.produce("together", 0, [b"plain"])
    open_one = client.open_together("together", {0: [b"open"]}, name="left-open")
    client.produce("together", 0, [b"waits behind the open one"])

    seen = [(row.partition, row.offset, row.value) for row in client.read_all("together")]
    # Each end of a transaction is a control record and takes an offset.
    assert seen == [(0, 0, b"a"), (0, 4, b"plain"), (1, 0, b"b")]
    assert client.offsets("together")[0] == (0, 7)

    client.end_together(open_one, "together", [0], keep=True)
    values = [row.value for row in client.read_all("together") if row.partition == 0]
    assert values == [b"a", b"plain", b"open", b"waits behind the open one"]


def test_a_topic_that_is_made_again_has_another_id_and_starts_at_zero(client: KafkaClient) -> None:
    first = client.create_topic("again")
    client.produce("again", 0, [b"old"] * 3)
    client.delete_topic("again")
    second = client.create_topic("again")

    assert len(first) == len(second) == 22
    assert first != second == client.topic_id("again")
    assert client.produce("again", 0, [b"new"]) == [0]


def test_records_can_be_deleted_and_partitions_added(client: KafkaClient) -> None:
    client.create_topic("shrinks")
    client.produce("shrinks", 0, [b"%d" % n for n in range(10)])
    client.delete_records("shrinks", 0, before=7)
    client.add_partitions("shrinks", total=2)

    assert client.offsets("shrinks") == {0: (7, 10), 1: (0, 0)}
    assert [row.value for row in client.read_all("shrinks")] == [b"7", b"8", b"9"]


def test_a_topic_nobody_created_is_refused(client: KafkaClient) -> None:
    with pytest.raises((KafkaException, TimeoutError)):
        client.produce("never-created", 0, [b"x"], message_timeout_ms=2000)


def test_three_brokers_go_on_when_one_is_killed_and_take_it_back(
    tmp_path: Path, broker_jars: list[Path], java: Java
) -> None:
    """Goal: a quorum that survives. Method: kill -9 one of three, write, take it back, read."""
    with EmbeddedKafka(tmp_path, broker_jars, java.path, brokers=3) as cluster:
        client = KafkaClient(cluster.bootstrap)
        client.create_topic("survives")
        client.produce("survives", 0, [b"before"])
        cluster.kill(2)
        client.produce("survives", 0, [b"while one is gone"])
        cluster.restart(2)
        client.produce("survives", 0, [b"after"])

        values = [row.value for row in client.read_all("survives")]
        assert values == [b"before", b"while one is gone", b"after"]
        for node in (1, 2, 3):
            cluster.kill(node)  # three that say goodbye at once wait for each other


def test_a_cluster_keeps_its_data_id_and_properties_and_leaves_no_process(
    tmp_path: Path, broker_jars: list[Path], java: Java
) -> None:
    """Goal: stop is complete and a restart is the same cluster. Method: start, stop, start."""
    cluster = EmbeddedKafka(
        tmp_path,
        broker_jars,
        java.path,
        cluster_id="c3Vycm9nYXRlLWNsdXN0ZX",
        properties={"log.retention.check.interval.ms": "12345"},
    )
    cluster.start()
    processes = cluster.pids
    KafkaClient(cluster.bootstrap).create_topic("kept")
    cluster.stop()
    assert [pid for pid in processes if _runs(pid)] == []

    cluster.start()
    try:
        assert KafkaClient(cluster.bootstrap).produce("kept", 0, [b"x"]) == [0]
    finally:
        cluster.stop()
    log = cluster.log().read_text()
    assert "log.retention.check.interval.ms = 12345" in log
    assert "c3Vycm9nYXRlLWNsdXN0ZX" in log


def test_a_broker_that_cannot_start_shows_the_end_of_its_log(
    tmp_path: Path, broker_jars: list[Path], java: Java
) -> None:
    wrong = {"num.io.threads": "none"}
    cluster = EmbeddedKafka(tmp_path, broker_jars, java.path, properties=wrong)
    with pytest.raises(
        ServerFailed, match=r"Invalid value none for configuration num\.io\.threads"
    ):
        cluster.start()
    assert cluster.pids == []


def test_a_server_ends_when_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    """Goal: no orphans. Method: a parent starts `sleep` as a server and dies by SIGKILL."""
    code = (
        "import sys, time; from pathlib import Path;"
        "from penstock.testing.servers import GuardedProcess;"
        "here = Path(sys.argv[1]);"
        "p = GuardedProcess(['sleep', '300'], here, here / 'log');"
        "print(*p.pids, flush=True); time.sleep(300)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        started = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(started) == 2
        assert all(_runs(pid) for pid in started)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while any(_runs(pid) for pid in started):
        assert time.monotonic() < deadline, "the server outlived its parent"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    """True for a live process; one that has ended and was not waited for yet does not run."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")
