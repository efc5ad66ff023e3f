"""Errors of sources that are not about records."""

from penstock.api.source import SourceUnavailable


class KafkaUnavailable(SourceUnavailable):
    """No broker answered, or it refused us; nothing was read and nothing changed."""

    code = "KAFKA_UNAVAILABLE"

    remedy = (
        "Check that it runs, that `bootstrap.servers` is right and that we are let in; "
        "then run again."
    )

    def __init__(self, servers: str, why: str) -> None:
        super().__init__(f"Kafka at {servers}", why)
        self.servers = servers
