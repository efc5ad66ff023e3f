# ruff: noqa: S101  -- these are tests; they assert
"""The part of the contract about names: odd ones come back unchanged, bad ones are refused."""

from collections.abc import Callable, Iterator

import pytest

from penstock.api.store import Store
from penstock.errors import BadKey
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.probe import LEAST_KEY_BYTES
from penstock.testing.contracts.store_staged import file_name

ODD_NAMES = [
    "a space",
    " leading and trailing ",
    "new\nline",
    "tab\tand\rreturn",
    "'single' \"double\" `back`",
    "%2e%2e",
    "100%",
    "back\\slash",
    "colon:star*question?",
    "$HOME;rm -rf ~|&",
    "[glob]{a,b}",
    "k=v",
    "-dash",
    ".leading-dot",
    "...",
    "trailing.",
    "~",
    "é",
    "日本語",
    "\u202eright to left",
    "\U0001f9ed",
    "\x01\x7f",
    "n" * 255,
    "é" * 127,
    "part.staged",
    "CON",
]
TWINS = [("caf\u00e9", "cafe\u0301"), ("Case", "case"), ("stra\u00dfe", "strasse")]
BAD_KEYS = [
    "",
    "/absolute",
    "..",
    "../outside",
    "a/../../outside",
    "a/..",
    ".",
    "a/./b",
    "a//b",
    "a/",
    "nul\0",
    "n" * 256,
    "é" * 128,
    "half \ud800 of a pair",
]


class NameContract:
    """Tests of names. Every store takes every name; what its place cannot hold, it encodes.

    A place that cannot tell twins apart says so in `tells_twins_apart`, and a store whose encoding
    of odd names changes their order in listings in `sorts_odd_names`.
    """

    tells_twins_apart = True
    sorts_odd_names = True

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_an_odd_name_comes_back_unchanged(
        self, store: Store, second_store: Store, name: str
    ) -> None:
        keys = sorted([f"data/{name}", f"{name}/{name}/file"])
        for key in keys:
            assert store.create(key, key.encode()) is True
        assert sorted(list_keys(second_store, "")) == keys
        assert list_keys(second_store, name) == [f"{name}/{name}/file"]
        if self.sorts_odd_names:
            assert list_keys(second_store, "") == keys
            assert list_keys(second_store, "", keys[0], 1) == keys[1:]
        for key in keys:
            assert second_store.read(key) == key.encode()
            assert second_store.head(key) == len(key.encode())
            assert second_store.create(key, b"") is False

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_an_odd_name_can_be_staged_and_published(
        self, store: Store, second_store: Store, name: str
    ) -> None:
        final = f"data/{name}/{file_name()}"
        writer = store.open_staged(final, StagingSpot(f"staging/{name}", "0-1", name[:50]))
        writer.write(b"rows")
        handle = writer.finish()
        refs = second_store.list_staged(f"staging/{name}", [f"data/{name}"])
        assert [ref.window for ref in refs] == ["0-1"]
        second_store.publish(handle)
        assert store.look(handle).is_done
        assert list_keys(store, "data") == [final]

    @pytest.mark.parametrize("twins", TWINS)
    def test_names_that_only_look_alike_are_two_objects(
        self, store: Store, twins: tuple[str, str]
    ) -> None:
        """Where the place cannot tell them apart, the second is refused and harms nothing."""
        first, second = (f"data/{twin}" for twin in twins)
        assert store.create(first, b"first") is True
        if store.create(second, b"second") or self.tells_twins_apart:
            assert list_keys(store, "data") == sorted([first, second])
            assert store.read(second) == b"second"
        assert store.read(first) == b"first"

    @pytest.mark.parametrize("key", BAD_KEYS)
    def test_a_bad_name_is_refused_by_every_method(self, store: Store, key: str) -> None:
        for attempt in _attempts(store, key):
            with pytest.raises(BadKey):
                attempt()
        assert list_keys(store, "") == []

    @pytest.mark.parametrize("name", ["", "..", ".", "a/b", "/a", "nul\0", "n" * 256])
    def test_a_window_and_an_attempt_are_single_components(self, store: Store, name: str) -> None:
        for spot in (StagingSpot("staging", name, "t0"), StagingSpot("staging", "0-1", name)):
            with pytest.raises(BadKey):
                store.open_staged("data/a", spot)
        assert list(store.list_staged("staging", ["data"])) == []

    def test_the_longest_key_is_taken_and_one_byte_more_is_refused(
        self, store: Store, second_store: Store
    ) -> None:
        assert store.longest_key_bytes >= LEAST_KEY_BYTES
        key = long_key(store.longest_key_bytes, "file")
        assert store.create(key, b"content") is True
        assert second_store.read(key) == b"content"
        assert list_keys(second_store, "k") == [key]
        for longer in (long_key(store.longest_key_bytes + 1, "file"), f"{key[:-1]}é"):
            with pytest.raises(BadKey):
                store.create(longer, b"content")
            with pytest.raises(BadKey):
                store.head(longer)

    def test_a_file_with_the_longest_name_is_staged_and_published(self, store: Store) -> None:
        final = long_key(store.longest_key_bytes, file_name())
        writer = store.open_staged(final, StagingSpot("staging", "0-1", "t0"))
        writer.write(b"rows")
        handle = writer.finish()
        assert [ref.window for ref in store.list_staged("staging", ["k"])] == ["0-1"]
        store.publish(handle)
        assert store.look(handle).is_done
        with pytest.raises(BadKey):
            store.open_staged(f"k{final}", StagingSpot("staging", "0-1", "t1"))

    def test_every_object_has_an_address_of_its_own(
        self, store: Store, second_store: Store
    ) -> None:
        keys = [f"data/{name}/{name}" for name in ODD_NAMES]
        addresses = [store.uri(key) for key in keys]
        assert len(set(addresses)) == len(keys)
        assert all("://" in each or each.startswith("/") for each in addresses)
        assert addresses == [second_store.uri(key) for key in keys]


def long_key(size_bytes: int, name: str) -> str:
    """A key of so many bytes below the directory `k`, which ends in a name."""
    room = size_bytes - len("k/") - len(name)
    whole, rest = divmod(room, 100)
    parts = ["d" * 99 for _ in range(whole)]
    if rest == 1:  # a component cannot be empty
        parts[-1] += "d"
    elif rest:
        parts.append("d" * (rest - 1))
    return "/".join(["k", *parts, name])


def _attempts(store: Store, key: str) -> Iterator[Callable[[], object]]:
    """Every way to hand a name to a store. An empty prefix is a listing of all, so it is legal."""
    handle = StagedHandle(store.kind, "staging/0-1/t0.staged", key, 1, "sha256:00")
    stolen = StagedHandle(store.kind, key, "data/a", 1, "sha256:00")
    yield lambda: store.create(key, b"")
    yield lambda: store.read(key)
    yield lambda: store.open_read(key)
    yield lambda: store.head(key)
    yield lambda: store.delete(key)
    yield lambda: store.uri(key)
    yield lambda: store.open_staged(key, StagingSpot("staging", "0-1", "t0"))
    yield lambda: store.open_staged("data/a", StagingSpot(key, "0-1", "t0"))
    yield lambda: store.look(handle)
    yield lambda: store.look(stolen)
    yield lambda: store.publish(handle)
    yield lambda: store.publish(stolen)
    yield lambda: store.discard(StagedRef(place=key, window="0-1"))
    yield lambda: store.probe(key)
    if key and not key.endswith("/"):
        yield lambda: list_keys(store, key)
        yield lambda: list(store.list_staged(key, ["data"]))
