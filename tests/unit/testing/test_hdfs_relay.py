"""The relay of HDFS: single requests are held or lost, and the others pass."""

import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from threading import Thread

import pytest

from penstock.testing.hdfs_relay import HdfsRelay, RelayRule
from penstock.testing.servers import LOOPBACK, free_ports

HEADER = b"hrpc\x09\x00\x00"
PATIENCE_S = 20.0


class FrameServer:
    """Answers each frame with itself, and remembers it."""

    def __init__(self, pause_s: float = 0.0) -> None:
        self._pause_s = pause_s
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port = self._listener.getsockname()[1]
        self.got: list[bytes] = []
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                line = self._listener.accept()[0]
                Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with suppress(OSError), line, line.makefile("rb") as stream:
            assert stream.read(len(HEADER)) == HEADER
            while length := stream.read(4):
                frame = stream.read(struct.unpack(">I", length)[0])
                self.got.append(frame)
                time.sleep(self._pause_s)
                line.sendall(length + frame)


@pytest.fixture
def server() -> Iterator[FrameServer]:
    running = FrameServer()
    yield running
    running.close()


@pytest.fixture
def relay(server: FrameServer) -> Iterator[HdfsRelay]:
    with HdfsRelay(server.port) as running:
        yield running


class Caller:
    """A client of the relay; a reply that does not come is empty."""

    def __init__(self, relay: HdfsRelay) -> None:
        host, _, port = relay.authority.partition(":")
        self.line = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self.line.sendall(HEADER)

    def send(self, frame: bytes) -> None:
        self.line.sendall(struct.pack(">I", len(frame)) + frame)

    def reply(self) -> bytes:
        with suppress(ConnectionError):
            found = self.line.recv(1 << 16)
            return found[4:]
        return b""

    def ask(self, frame: bytes) -> bytes:
        with suppress(ConnectionError):
            self.send(frame)
        return self.reply()


def wait_until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_no_rule_is_about_passes(relay: HdfsRelay, server: FrameServer) -> None:
    relay.rules.append(RelayRule("rename2", ".parquet", "lose-reply"))
    caller = Caller(relay)
    for frame in (b"getFileInfo /a.parquet", b"rename2 /a.json"):
        assert caller.ask(frame) == frame
    assert (relay.hits, relay.lost_replies) == (0, 0)


def test_of_a_lost_reply_the_request_has_arrived_and_of_a_lost_request_nothing(
    relay: HdfsRelay, server: FrameServer
) -> None:
    relay.rules += [
        RelayRule("addBlock", act="lose-reply"),
        RelayRule("complete", act="lose-request"),
    ]
    assert Caller(relay).ask(b"addBlock /a") == b""
    assert Caller(relay).ask(b"complete /a") == b""
    assert server.got == [b"addBlock /a"]
    assert (relay.hits, relay.lost_replies) == (2, 1)
    assert Caller(relay).ask(b"complete /a") == b"complete /a"


def test_a_rule_hits_from_the_nth_request_on_and_so_often(
    relay: HdfsRelay, server: FrameServer
) -> None:
    relay.rules.append(RelayRule("create", "/b", "lose-request", nth=2, times=2))
    asked = [Caller(relay).ask(b"create /b") for _ in range(4)]
    assert asked == [b"create /b", b"", b"", b"create /b"]
    assert relay.last_hit == b"create /b"


def test_what_is_held_arrives_after_its_sender_is_dead(
    relay: HdfsRelay, server: FrameServer
) -> None:
    relay.rules.append(RelayRule("rename2", act="hold", times=2))
    dead, alive = Caller(relay), Caller(relay)
    for caller in (dead, alive):
        caller.send(b"rename2 /a")
    wait_until(lambda: relay.held == 2)
    dead.line.close()
    assert server.got == []
    relay.release()
    assert server.got == [b"rename2 /a"] * 2
    assert alive.reply() == b"rename2 /a"
    assert alive.ask(b"rename2 /b") == b"rename2 /b", "nothing is held any more"


def test_of_a_stalled_request_nothing_comes_back_while_its_sender_waits(
    relay: HdfsRelay, server: FrameServer
) -> None:
    relay.rules.append(RelayRule("rename2", act="stall"))
    caller = Caller(relay)
    caller.send(b"rename2 /a")
    wait_until(lambda: relay.lost_replies == 1)
    caller.line.settimeout(0.2)
    with pytest.raises(TimeoutError):
        caller.line.recv(1)
    assert server.got == [b"rename2 /a"]
    assert Caller(relay).ask(b"rename2 /b") == b"rename2 /b"


def test_a_reply_to_what_went_before_is_not_taken_for_one_to_what_is_held() -> None:
    """One connection carries many requests at once; the name node may be slow with the first."""
    slow = FrameServer(pause_s=0.5)
    with HdfsRelay(slow.port) as relay:
        relay.rules.append(RelayRule("rename2", act="hold"))
        caller = Caller(relay)
        caller.send(b"getFileInfo /a")
        caller.send(b"rename2 /a")
        relay.wait_for_held(PATIENCE_S)
        assert caller.reply() == b"getFileInfo /a"
        relay.release()
        assert slow.got == [b"getFileInfo /a", b"rename2 /a"]
    slow.close()


def test_a_server_that_is_down_ends_connections_as_if_the_relay_were_not_there() -> None:
    [nobody] = free_ports(1, Random())
    with HdfsRelay(nobody) as relay:
        assert Caller(relay).ask(b"getFileInfo /a") == b""
