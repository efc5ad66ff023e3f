"""Errors of the source that are not about records."""

import re

from penstock.errors import PenstockError

_HELD = (
    "A running feed holds the partitions whose records need a schema that is not known yet, asks "
    "again by itself, and goes on with the others."
)
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


class RegistryTrouble(PenstockError):
    """The registry did not tell what was asked. All that nobody else could tell has to wait.

    Whatever stands before a registry that is down may answer in its place, with a refusal or a
    login page, so no answer of this kind is reason enough to stop a feed.
    """


class RegistryDown(RegistryTrouble):
    """The registry did not answer; what it would have told is not known."""

    code = "REGISTRY_UNAVAILABLE"

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"The schema registry at {url} is not available: {why}.",
            f"{_HELD} Check that it runs and that `registry.url` is right; nothing else is to be "
            "done.",
        )
        self.url = url


class RegistryRefused(RegistryTrouble):
    """The registry does not let us in."""

    code = "REGISTRY_REFUSED"
    exit_code = 2

    def __init__(self, url: str, status: int) -> None:
        super().__init__(
            f"The schema registry at {url} refused us ({status}).",
            f"{_HELD} If it does not pass, give `registry` a user and a password, or a token, that "
            "may read schemas, and start again.",
        )
        self.url = url


class RegistryWrong(RegistryTrouble):
    """Something answered that is no schema registry, or not a sound one."""

    code = "REGISTRY_WRONG"
    exit_code = 2

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"What answers at {url} is not a usable schema registry: {why}.",
            f"{_HELD} If it does not pass, correct `registry.url`, which must lead to Confluent's "
            "API, with its path if it has one, such as http://host:8081 or "
            "http://host:8080/apis/ccompat/v7, and start again.",
        )
        self.url = url


class SchemaChanged(PenstockError):
    """A registry shows another schema behind an id than before."""

    code = "SCHEMA_CHANGED"
    exit_code = 5

    def __init__(self, key: str, before: str, now: str) -> None:
        super().__init__(
            f"The registry has another schema for {key} than when it was first used: {before[:12]} "
            f"then, {now[:12]} now.",
            "Nothing was read, because records written with one would be taken for the other. An "
            "id never changes its meaning in one registry: check that `registry.url` leads to the "
            "same one. If it was replaced on purpose, begin a new feed for records from then on.",
        )
        self.key = key


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
