"""Errors of the source that are not about records."""

import re

from penstock.errors import PenstockError

_RAISED = re.compile(r"[\w.]+(?:Error|Exception): ")  # the last line of a Python worker's trace


class KafkaUnavailable(PenstockError):
    """No broker answered, or it refused us; nothing was read and nothing changed."""

    code = "KAFKA_UNAVAILABLE"

    def __init__(self, servers: str, why: str) -> None:
        super().__init__(
            f"Kafka at {servers} did not answer: {why}.",
            "Nothing was read. Check that it runs, that `bootstrap.servers` is right and that we "
            "are let in; then run again.",
        )
        self.servers = servers


class Interrupted(BaseException):
    """Ctrl-C while we wait for the JVM, under a name that py4j lets pass.

    py4j catches `KeyboardInterrupt` itself, prints a trace and fails over it.
    """


class ReadFailed(PenstockError):
    """The reading job failed; whatever it staged is invisible and will be removed."""

    code = "READ_FAILED"

    def __init__(self, window: str, why: str) -> None:
        super().__init__(
            f"The job that reads window {window} failed: {why}.",
            "Nothing became visible and the watermark stands. If the log says that records are "
            "gone, the next plan tells which; else run again.",
        )
        self.window = window


def first_line(error: Exception) -> str:
    """The cause of a failed job in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by") or _RAISED.match(line)]
    return (causes or lines or ["no cause given"])[-1 if causes else 0][:400]
