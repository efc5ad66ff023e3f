"""Gives metrics to the reporters of a run: now and then, and once at the end."""

import threading
from collections.abc import Callable, Sequence
from typing import Self

from penstock.api.reporter import Metrics, Reporter

EVERY_S = 15.0
END_S = 5.0  # how long the end of a run waits for the last report


class Reporting:
    """Reports from entering to leaving, on a thread of its own. A failure is told, and no more."""

    def __init__(
        self,
        reporters: Sequence[Reporter],
        metrics: Callable[[], Metrics],
        tell: Callable[[str], None],
        every_s: float = EVERY_S,
    ) -> None:
        self._reporters = reporters
        self._metrics = metrics
        self._tell = tell
        self._every_s = every_s
        self._over = threading.Event()
        self._told = ""
        self._thread = threading.Thread(target=self._run, name="penstock-report", daemon=True)

    def __enter__(self) -> Self:
        if self._reporters:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._reporters:
            self._thread.join(END_S)

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            self._report()
        self._report()

    def _report(self) -> None:
        """Give the metrics of now to all; what fails is told once, until it works again."""
        try:
            metrics = self._metrics()
            for reporter in self._reporters:
                reporter.report(metrics)
        except Exception as error:  # noqa: BLE001  a plug-in may raise anything, and no feed cares
            sentence = f"{type(error).__name__}: {error}"
            if sentence != self._told:
                self._tell(sentence)
            self._told = sentence
        else:
            self._told = ""
