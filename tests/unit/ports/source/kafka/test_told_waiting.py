"""A slow or dead broker is told once, soon, with the time that it has."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from penstock.ports.source.kafka.told_waiting import ToldWaiting, unreached

SOON_S = 0.05
LIMIT_S = 10.0


@pytest.fixture
def port() -> Iterator[int]:
    """A port on which somebody listens and nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found: int = server.getsockname()[1]
    return found


class Listener:
    """What was told; waits for it."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self._heard = threading.Event()

    def __call__(self, sentence: str) -> None:
        self.said.append(sentence)
        self._heard.set()

    def waits(self) -> str:
        assert self._heard.wait(LIMIT_S)
        return self.said[-1]


def fail_after(waiting: ToldWaiting, wait: Callable[[], object]) -> None:
    """A call that does not come to an answer."""

    def call() -> None:
        with waiting.answer():
            wait()
            raise TimeoutError

    with pytest.raises(TimeoutError):
        call()


def test_a_server_that_accepts_is_enough(port: int) -> None:
    assert unreached(f"127.0.0.1:{port}", 1.0) == ""
    assert unreached(f"127.0.0.1:{closed_port()},PLAINTEXT://127.0.0.1:{port}", 1.0) == ""


def test_servers_that_refuse_are_told_with_the_reason() -> None:
    found = unreached(f"127.0.0.1:{closed_port()}, [::1]:{closed_port()}", 1.0)
    assert found.startswith("no server accepts a connection (")


@pytest.mark.parametrize("servers", ["", "nowhere", "host:port"])
def test_a_list_that_cannot_be_read_is_left_to_kafka(servers: str) -> None:
    assert unreached(servers, 1.0) == ""


def test_a_dead_server_is_told_before_the_client_is_asked_and_then_not_again() -> None:
    heard = Listener()
    servers = f"127.0.0.1:{closed_port()}"
    waiting = ToldWaiting({"bootstrap.servers": servers}, heard, SOON_S)
    waiting.begin("Spark starts first, and ")
    assert heard.waits().startswith(f"waiting for Kafka at {servers}: no server accepts")
    assert heard.said[0].endswith(
        "; Spark starts first, and Kafka's client gives up 60 s after it is asked"
    )
    fail_after(waiting, lambda: time.sleep(3 * SOON_S))
    assert len(heard.said) == 1


def test_a_slow_answer_is_told_once_with_the_time_it_has_and_a_quick_one_never() -> None:
    heard = Listener()
    options = {"bootstrap.servers": "b:1", "default.api.timeout.ms": "15000"}
    waiting = ToldWaiting(options, heard, SOON_S)
    for _ in range(3):
        with waiting.answer():
            pass
    time.sleep(2 * SOON_S)
    assert heard.said == []
    fail_after(waiting, heard.waits)
    fail_after(waiting, lambda: time.sleep(3 * SOON_S))
    (told,) = heard.said
    assert told.startswith("waiting for Kafka at b:1: no answer yet; it has until ")
    assert told.endswith(", 15 s in all")
    with waiting.answer():
        pass
    with waiting.answer():
        time.sleep(3 * SOON_S)
    assert len(heard.said) == 2, "after an answer, the next silence is told again"
