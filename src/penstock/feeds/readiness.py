"""Waiting for what sources need, such as Spark, without keeping anybody from stopping."""

import threading
from collections.abc import Callable


class Readiness:
    """Waits on a thread of its own, from when it is first asked. Any thread."""

    def __init__(self, wait_until_ready: Callable[[], object]) -> None:
        self._wait_until_ready = wait_until_ready
        self._lock = threading.Lock()
        self._has_begun = False
        self._came = threading.Event()
        self._error: Exception | None = None

    @property
    def has_come(self) -> bool:
        """True once all is ready; asks for nothing."""
        return self._came.is_set()

    def is_ready(self) -> bool:
        """True once all is ready. The first who asks begins the wait."""
        with self._lock:
            is_first, self._has_begun = not self._has_begun, True
        if is_first:
            threading.Thread(target=self._run, name="penstock-ready", daemon=True).start()
        return self._came.is_set()

    def wait(self, timeout_s: float) -> bool:
        """Wait for a while; whether all is ready then."""
        return self._came.wait(timeout_s)

    def raise_failure(self) -> None:
        """Raise what kept it from becoming ready, if anything did."""
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._wait_until_ready()
        except Exception as error:  # noqa: BLE001  raised where the run is watched
            self._error = error
            return
        self._came.set()
