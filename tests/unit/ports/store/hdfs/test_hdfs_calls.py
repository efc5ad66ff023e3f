"""Calls to HDFS in bounded time: who gets an answer, what happens to a late one, and who closes."""

import gc
import io
import sys
import weakref
from collections.abc import Callable, Iterator
from threading import Event, get_ident
from typing import Any, cast

import pytest
from hdfs_native import FileWriter, WriteOptions

from penstock.api.doors import STORES
from penstock.api.find import offer
from penstock.errors import StoreUnavailable
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.hdfs.hdfs_calls import Calls, in_time
from penstock.ports.store.hdfs.hdfs_clients import CalmClient, HdfsClients, make_client
from penstock.ports.store.hdfs.hdfs_failures import NoAnswerInTime
from penstock.ports.store.hdfs.hdfs_files import HdfsFiles
from penstock.ports.store.hdfs.hdfs_settings import HdfsSettings, read_settings

WAIT_S = 20.0
RESET = OSError("Connection reset by peer (os error 104)")
ONCE = BackOff(tries=1)


class RawWriter:
    """The half of a writer that is Rust in truth: says what it is asked, and fails by a script."""

    def __init__(self, fails_at: str = "", waits_at: str = "") -> None:
        self.asked: list[str] = []
        self.threads: set[int] = set()
        self.closed = Event()
        self.going = Event()
        self._fails_at = fails_at
        self._waits_at = waits_at

    def write(self, data: bytes) -> int:
        self._ask("write")
        return len(data)

    def hsync(self) -> None:
        self._ask("hsync")

    def close(self) -> None:
        self._ask("close")
        self.closed.set()

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        self.threads.add(get_ident())
        if what == self._waits_at:
            self.going.wait(WAIT_S)
        if what == self._fails_at:
            raise RESET


class RawClient:
    """Gives that writer for every file."""

    def __init__(self, writer: RawWriter) -> None:
        self._writer = writer

    def create(self, _path: str, _options: WriteOptions) -> RawWriter:
        return self._writer


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def settings(**words: str) -> HdfsSettings:
    return read_settings(StoreSpec("hdfs", "127.0.0.1:1/lake", offer(STORES, "hdfs"), words))


def files(writer: RawWriter, **words: str) -> HdfsFiles:
    """Files on a client that is ours but for the half that is Rust."""

    def make(found: HdfsSettings) -> CalmClient:
        client = make_client(found)
        client.inner = cast(Any, RawClient(writer))
        assert isinstance(client, CalmClient)
        return client

    given = settings(**words)
    return HdfsFiles(Calls(given, HdfsClients(given, make), ONCE))


def write(files: HdfsFiles) -> None:
    files.write_new("create", "a", lambda number: f"/lake/a-{number}", lambda: io.BytesIO(b"rows"))


def test_a_writer_is_closed_once_and_asks_for_nothing_when_it_is_forgotten() -> None:
    raw = RawWriter()
    write(files(raw))
    assert raw.asked == ["write", "hsync", "close"]


def test_a_writer_of_the_library_does_ask_which_is_why_ours_is_another() -> None:
    raw = RawWriter()
    writer = FileWriter(cast(Any, raw))
    del writer
    assert raw.asked == ["close"]


def test_a_file_without_a_block_is_forgotten_without_a_word(
    no_garbage_collection: None,
) -> None:
    """Closing it would ask the name node for 15 s, on whichever thread forgets it."""
    raw = RawWriter(fails_at="write")
    with pytest.raises(StoreUnavailable):
        write(files(raw))
    gc.collect()
    assert raw.asked == ["write"]


@pytest.mark.parametrize("fails_at", ["hsync", "close"])
def test_a_file_that_fails_later_is_closed_behind_our_back(fails_at: str) -> None:
    """Its data nodes keep a line open for it, and nobody waits until they have let go."""
    raw = RawWriter(fails_at)
    with pytest.raises(StoreUnavailable):
        write(files(raw))
    if fails_at == "hsync":
        assert raw.closed.wait(WAIT_S)
    assert get_ident() not in raw.threads


def test_a_file_that_is_begun_too_late_is_closed_by_the_thread_that_began_it() -> None:
    raw = RawWriter(waits_at="write")
    with pytest.raises(StoreUnavailable, match=r"no answer within 0\.05 s"):
        write(files(raw, request_timeout="50ms"))
    assert raw.asked == ["write"]
    raw.going.set()
    assert raw.closed.wait(WAIT_S)
    assert raw.asked == ["write", "close"]
    assert len(raw.threads) == 1


def test_a_late_answer_goes_to_whoever_takes_late_ones_and_to_nobody_else() -> None:
    going, late = Event(), Event()
    taken: list[int] = []

    def call() -> int:
        going.wait(WAIT_S)
        return 7

    def take(found: int) -> None:
        taken.append(found)
        late.set()

    with pytest.raises(NoAnswerInTime):
        in_time(call, 0.01, take)
    assert taken == []
    going.set()
    assert late.wait(WAIT_S)
    assert taken == [7]
    assert in_time(lambda: 8, WAIT_S, take) == 8
    assert taken == [7]


@pytest.mark.parametrize("error", [RESET, BaseException("of Rust")])
def test_an_error_is_raised_here_and_lets_go_of_what_the_call_held(
    error: BaseException, no_garbage_collection: None
) -> None:
    """Without the collector: nothing is kept until some thread happens to run it."""

    class Held:
        pass

    def call_with(held: Held) -> Callable[[], None]:
        def call() -> None:
            assert held is not None
            raise type(error)(*error.args)

        return call

    held = Held()
    watched = weakref.ref(held)
    call = call_with(held)
    del held
    with pytest.raises((OSError, RuntimeError)):
        in_time(call, WAIT_S)
    del call
    sys.exc_info()
    assert watched() is None


def test_after_a_call_without_an_answer_any_name_node_of_the_service_may_be_first() -> None:
    """The first one of the site may be a host that is gone, for which nothing is ever refused."""
    made: list[HdfsSettings] = []

    def make(found: HdfsSettings) -> CalmClient:
        made.append(found)
        return cast(CalmClient, object())

    words = {"request_timeout": "10ms"}
    given = read_settings(StoreSpec("hdfs", "lakes/shop", offer(STORES, "hdfs"), words))
    calls = Calls(given, HdfsClients(given, make), ONCE)
    going = Event()
    with pytest.raises(NoAnswerInTime):
        calls.once(lambda _client: going.wait(WAIT_S))
    assert calls.once(lambda _client: 7, patience=1000.0) == 7
    assert calls.once(lambda _client: 8, patience=1000.0) == 8
    going.set()
    orders = [found.client_config.get("dfs.client.failover.random.order.lakes") for found in made]
    assert orders == [None, "true"]
