"""Errors of the source that are not about records."""

from penstock.errors import PenstockError


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
