"""A session that is not needed any more is ended while it starts; nothing of it is left running."""

import re
import subprocess
import threading
from pathlib import Path
from typing import cast

import pytest
from pyspark import SparkContext, java_gateway
from pyspark.sql import SparkSession

from penstock.spark import jvm_process
from penstock.spark.errors import SparkFailed
from penstock.spark.jvm_process import JvmProcess
from penstock.spark.session import StartingSession, open_session, redaction
from tests.helpers.slow_spark import SlowSpark


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlowSpark:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(SparkContext, "_gateway", None)
    return SlowSpark(tmp_path / "spark", monkeypatch)


def starting() -> StartingSession:
    return StartingSession(lambda jvm: open_session("test", {}, [], jvm=jvm))


def test_a_start_is_ended_and_not_waited_for(slow: SlowSpark) -> None:
    """Method: pyspark itself starts a script that never answers, and waits for it."""
    session = starting()
    slow.wait_until_begun()
    session.stop()
    assert slow.is_gone
    assert (slow.home / "helped").exists(), "what the launcher has started has ended too"
    with pytest.raises(SparkFailed):
        session.get()


@pytest.mark.parametrize("timeout_s", [None, 60.0])
def test_a_start_that_is_ended_raises_where_it_is_waited_for(
    slow: SlowSpark, timeout_s: float | None
) -> None:
    session = starting()
    slow.wait_until_begun()
    stopper = threading.Timer(0.1, session.stop, (timeout_s,))
    stopper.start()
    with pytest.raises(SparkFailed):
        session.get()
    stopper.join()
    assert slow.is_gone
    assert session.stop(), "it may be stopped again"


def test_a_start_that_is_not_ended_in_time_is_killed(
    slow: SlowSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Method: its JVM does not listen to SIGTERM."""
    monkeypatch.setattr(subprocess.Popen, "terminate", lambda _self: None)
    session = starting()
    slow.wait_until_begun()
    session.stop(0.1)
    with pytest.raises(SparkFailed):
        session.get()
    assert slow.is_gone


def test_no_process_is_started_after_the_end() -> None:
    jvm = JvmProcess()
    assert not jvm.end()
    with jvm.launching(), pytest.raises(OSError, match="not needed"):
        vars(java_gateway)["Popen"](["true"])
    assert vars(java_gateway)["Popen"] is subprocess.Popen


def test_a_process_that_does_not_end_when_asked_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm_process, "_STOP_TIMEOUT_S", 0.2)
    jvm = JvmProcess()
    stubborn = "trap '' TERM; echo ready; while :; do sleep 0.1; done"
    with jvm.launching():
        process = vars(java_gateway)["Popen"](["sh", "-c", stubborn], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    process.stdout.close()
    assert jvm.end()
    assert process.returncode == -9
    assert not jvm.end(), "it may be ended again"


def test_a_session_that_is_up_is_stopped_and_not_killed() -> None:
    class Session:
        stopped = 0

        def stop(self) -> None:
            self.stopped += 1

    up = Session()
    session = StartingSession(lambda _jvm: cast(SparkSession, up))
    session.stop()
    assert up.stopped == 1, "also if it comes up while it is stopped, in a JVM of another"


@pytest.mark.parametrize("own", ["", "(?i)mine", "mine|yours"])
def test_spark_hides_logins_of_kafka_whatever_the_user_has_chosen(own: str) -> None:
    """Spark's own default knows neither `kafka.sasl.jaas.config` nor keys inside of settings."""
    pattern = re.compile(redaction(own).replace("(?i)", ""), re.IGNORECASE)
    for name in ("kafka.sasl.jaas.config", "kafka.ssl.keystore.key", "kafka.ssl.key.password"):
        assert pattern.search(name)
    assert bool(pattern.search("spark.mine")) == bool(own)
    assert not pattern.search("kafka.ssl.truststore.location")
