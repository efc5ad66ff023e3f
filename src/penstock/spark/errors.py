"""Errors of Spark and its JVM: something is missing on this machine, or a job failed."""

from collections.abc import Sequence
from pathlib import Path

from penstock.errors import PenstockError
from penstock.model.plural import are, number_of

_INSTALL = (
    "Install Java 17, on Debian and Ubuntu the package openjdk-17-jre-headless, "
    "or set JAVA_HOME to an existing one"
)


class SetupIncomplete(PenstockError):
    """Something is missing on this machine. Nothing was started."""

    exit_code = 2


class JavaMissing(SetupIncomplete):
    """No java was found, or the one that was found does not run."""

    code = "JAVA_MISSING"

    def __init__(self, looked: str, why: str) -> None:
        super().__init__(
            f"Spark needs Java 17 or 21, but {looked} {why}.",
            f"{_INSTALL}; then run again.",
        )
        self.looked = looked


class JavaWrong(SetupIncomplete):
    """A java of a version that Spark does not support."""

    code = "JAVA_WRONG"

    def __init__(self, java: Path, version: int) -> None:
        super().__init__(
            f"Spark needs Java 17 or 21, but {java} is Java {version}.",
            f"{_INSTALL}; then run again.",
        )
        self.java = java
        self.version = version


class JarsMissing(SetupIncomplete):
    """Pinned jars are not in the cache. They are only fetched by `penstock jars fetch`."""

    code = "JARS_MISSING"

    def __init__(self, names: Sequence[str], cache: Path) -> None:
        super().__init__(
            f"{number_of(len(names), 'pinned jar')} {are(len(names))} not in {str(cache)!r}: "
            f"{_some(names)}.",
            "Nothing was started. Fetch them once with `penstock jars fetch`; "
            "without a network, copy that directory from a machine that has them.",
        )
        self.names = tuple(names)
        self.cache = cache


class JarsUnreachable(SetupIncomplete):
    """Ivy could not fetch all jars, so none was put into the cache."""

    code = "JARS_UNREACHABLE"

    def __init__(self, names: Sequence[str], why: str, cure: str = "") -> None:
        network = (
            "Check the network, or name your mirror in an Ivy settings file: "
            "`penstock jars fetch --settings FILE`."
        )
        super().__init__(
            f"{number_of(len(names), 'pinned jar')} could not be fetched ({_some(names)}): {why}.",
            f"Nothing was put into the cache. {cure or network}",
        )
        self.names = tuple(names)


class JarChanged(SetupIncomplete):
    """A jar with another checksum than the pinned one. It is never used."""

    code = "JAR_CHANGED"

    def __init__(self, name: str, wanted: str, found: str, place: str) -> None:
        super().__init__(
            f"The jar {name} {place} has the SHA-256 {found}, but {wanted} is pinned.",
            "It was not used. If it is in the cache, `penstock jars fetch` replaces it. If it came "
            "from a mirror, that mirror serves another file under this name: do not trust it.",
        )
        self.name = name
        self.wanted = wanted
        self.sha256 = found


def _some(names: Sequence[str], most: int = 3) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


class GatewayFailed(PenstockError):
    """The JVM for Kafka's client did not start, or does not have the client."""

    code = "JVM_FAILED"
    exit_code = 2

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The JVM for Kafka's client cannot be used: {why}.",
            "Kafka was not contacted and nothing was changed. Check "
            "`spark.driver.extraJavaOptions`, `spark.driver.extraClassPath` and `spark.jars`, "
            "and the memory of this machine.",
        )
        self.why = why


class SparkFailed(PenstockError):
    """Spark did not start: its JVM ended, or its settings cannot be used."""

    code = "SPARK_FAILED"
    exit_code = 2

    def __init__(self, why: str, log: Path | None) -> None:
        where = f" All that it said is in {log}." if log is not None else ""
        super().__init__(
            f"Spark did not start: {why.rstrip('.')}.{where}",
            "Nothing was read or written. Check the settings below `spark` in the configuration, "
            "and the memory of this machine; then run again.",
        )
        self.log = log


class JobFailed(PenstockError):
    """A Spark job that only reads failed, although its tasks were tried again."""

    code = "JOB_FAILED"

    def __init__(self, what: str, why: str) -> None:
        super().__init__(
            f"The Spark job that reads {what} failed: {why}.",
            "Nothing was changed. Remove the cause, and run again.",
        )
        self.what = what


class Interrupted(BaseException):
    """Ctrl-C while waiting for the JVM, as an exception that py4j does not catch.

    py4j catches `KeyboardInterrupt` itself, prints a trace and fails.
    """
