"""A store in memory that dies at one request, with what it holds for the next process."""

from penstock.testing.fault_script import Died
from penstock.testing.memory_store import Act, Answer, MemoryStore, Shelf


class DyingStore(MemoryStore):
    """Counts requests that change something, and dies at one of them; 0: never."""

    def __init__(self, shelf: Shelf | None = None, last: int = 0, *, after: bool = False) -> None:
        super().__init__(self._counted)
        if shelf is not None:
            self.shelf = shelf
        self.changes = 0
        self._last, self._after = last, after

    def _counted(self, act: Act) -> Answer:
        self.changes += not act.is_read
        is_last = self.changes == self._last and not act.is_read
        if is_last and not self._after:
            raise Died
        answer = self._perform(act)
        if is_last:
            raise Died
        return answer
