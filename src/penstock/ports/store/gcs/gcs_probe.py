"""Trying what a lake needs of GCS: conditions on rewrites and deletions, one by one and in races.

Some emulators check conditions on uploads alone. There a publish could overwrite, or bring back
what was deleted, so they are refused.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from penstock.errors import OutcomeUnknown, StoreUnfit
from penstock.ports.store.bucket.bucket_failures import BucketAnswer
from penstock.ports.store.gcs.gcs_requests import NOTHING, GcsRequests

ROUNDS = 12
_NEVER_OVER = "rewrite an object only when nothing is at its new name (ifGenerationMatch)"
_ONLY_THIS = "rewrite only the generation that is named (ifSourceGenerationMatch)"
_DELETES_THIS = "delete only the generation that is named (ifGenerationMatch)"


def probe_conditions(
    asks: GcsRequests, whole: Callable[[str], str], name: str, scratch: str
) -> None:
    """Try it below a prefix that nobody else uses; what is left has to be removed by the caller."""
    probe = _ConditionProbe(asks, whole, name, scratch)
    probe.rewrite_where_something_is()
    probe.rewrite_another_generation()
    probe.delete_another_generation()
    for number in range(ROUNDS):
        probe.race_two(number)


class _ConditionProbe:
    """Objects by the requests themselves: the answers are what is tried."""

    def __init__(
        self, asks: GcsRequests, whole: Callable[[str], str], name: str, scratch: str
    ) -> None:
        self._requests = asks
        self._whole = whole
        self._name = name
        self._scratch = scratch

    def rewrite_where_something_is(self) -> None:
        """The condition on the new name holds, and keeps what is there."""
        source = self._make("first", b"first")
        there = self._make("taken", b"taken")
        was_done = self._rewrite("first", "taken", source)
        if was_done or self._content("taken") != b"taken":
            raise StoreUnfit(self._name, _NEVER_OVER, "it was done, and what was there is lost")
        self._remove("first", source)
        self._remove("taken", there)

    def rewrite_another_generation(self) -> None:
        """The condition on the source holds; also where nothing of that name is left."""
        old = self._make("again", b"old")
        self._remove("again", old)
        if self._rewrite("again", "brought-back", old):
            raise StoreUnfit(self._name, _ONLY_THIS, "one that was deleted came back")
        new = self._make("again", b"new")
        if self._rewrite("again", "brought-back", old):
            raise StoreUnfit(self._name, _ONLY_THIS, "another one was taken in its place")
        self._remove("again", new)

    def delete_another_generation(self) -> None:
        """The condition on a deletion holds."""
        old = self._make("kept", b"old")
        self._remove("kept", old)
        new = self._make("kept", b"new")
        self._remove("kept", old)
        if self._content("kept") != b"new":
            raise StoreUnfit(self._name, _DELETES_THIS, "another one was deleted in its place")
        self._remove("kept", new)

    def race_two(self, number: int) -> None:
        """Two objects are rewritten to one name at once: one of them, and no other, is there."""
        contents = {f"{number}-a": b"first", f"{number}-b": b"other"}
        made = {name: self._make(name, content) for name, content in contents.items()}
        target = f"{number}-raced"
        barrier = Barrier(len(contents))

        def run(name: str) -> bool:
            barrier.wait()
            return self._rewrite(name, target, made[name])

        with ThreadPoolExecutor(len(contents)) as threads:
            told = dict(zip(contents, threads.map(run, contents), strict=True))
        winners = [contents[name] for name, won in told.items() if won]
        if len(winners) != 1 or self._content(target) != winners[0]:
            seen = f"of two at once {len(winners)} were told that they had"
            raise StoreUnfit(self._name, _NEVER_OVER, seen)

    def _key(self, name: str) -> str:
        return self._whole(f"{self._scratch}/conditions/{name}")

    def _make(self, name: str, content: bytes) -> str:
        try:
            return self._requests.insert("create", self._key(name), content, NOTHING)
        except BucketAnswer as answer:
            raise self._requests.odd_answer("create", self._key(name), answer) from answer

    def _rewrite(self, source: str, target: str, generation: str) -> bool:
        """True when the store said that it has done it."""
        try:
            self._requests.rewrite(self._key(source), self._key(target), generation, {})
        except (BucketAnswer, OutcomeUnknown):
            return False
        return True

    def _content(self, name: str) -> bytes | None:
        found = self._requests.get(self._key(name))
        return None if found is None else found[0]

    def _remove(self, name: str, generation: str) -> None:
        self._requests.delete(self._key(name), generation)
