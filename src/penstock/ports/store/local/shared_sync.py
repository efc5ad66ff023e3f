"""One sync for all who ask for it at the same time.

Hundreds of files of a window lie in one directory, and each waits until its name is durable. A sync
that begins after a name was made is as good for it as one of its own. So a call during a sync waits
for the next one, and all that wait share it.
"""

import threading
from collections.abc import Callable


class _Turn:
    """A sync that has not begun yet, and how it went."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.error: BaseException | None = None


class SharedCalls:
    """Calls `act` with a path; calls with one path that overlap are shared. For many threads."""

    def __init__(self, act: Callable[[str], None]) -> None:
        self._act = act
        self._guard = threading.Lock()
        self._waiting: dict[str, _Turn] = {}
        self._busy: dict[str, _Turn] = {}

    def __call__(self, path: str) -> None:
        """Return when an act is over that began after this call; raises what that raised."""
        with self._guard:
            turn = self._waiting.get(path)
            is_first = turn is None
            if turn is None:
                turn = self._waiting[path] = _Turn()
            before = self._busy.get(path)
        if is_first:
            if before is not None:
                before.is_over.wait()
            self._run(path, turn)
        turn.is_over.wait()
        if turn.error is not None:
            raise turn.error

    def _run(self, path: str, turn: _Turn) -> None:
        """Act for all that wait; calls that come later wait for the next turn."""
        with self._guard:
            self._waiting.pop(path)
            self._busy[path] = turn
        try:
            self._act(path)
        except BaseException as error:  # noqa: BLE001, raised again by all who wait
            turn.error = error
        finally:
            with self._guard:
                del self._busy[path]  # ours: the next begins only when this one is over
            turn.is_over.set()
