"""The error of a JVM that was to run Kafka's client and does not."""

from penstock.errors import PenstockError


class GatewayFailed(PenstockError):
    """The JVM for Kafka's client did not start, or has no such client."""

    code = "JVM_FAILED"
    exit_code = 2

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The JVM that runs Kafka's client is of no use: {why}.",
            "Kafka was not asked and nothing was changed. Check `spark.driver.extraJavaOptions`, "
            "`spark.driver.extraClassPath` and `spark.jars`, and the memory of this machine.",
        )
        self.why = why
