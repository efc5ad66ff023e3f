"""Errors of reading from Kafka."""

from penstock.api.source import SourceUnavailable


class KafkaUnavailable(SourceUnavailable):
    """No broker answered, or it refused access. Nothing was read or changed."""

    code = "KAFKA_UNAVAILABLE"

    remedy = (
        "Check that Kafka runs, that `bootstrap.servers` is right and that the security settings "
        "give access; then run again."
    )

    def __init__(self, servers: str, why: str) -> None:
        super().__init__(f"Kafka at {servers}", why)
        self.servers = servers
