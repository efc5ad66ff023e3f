"""A JVM for Kafka's own client, without a Spark session. It starts in half a second.

Commands that only ask Kafka need no Spark. So this starts py4j's plain gateway with the pinned
connector on its class path. If the user's settings make Spark find the connector
(`spark.jars.packages`, jars on another machine), Spark's own launcher starts the gateway, which
takes some seconds more. Driver only.
"""

import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from py4j.java_gateway import (  # type: ignore[import-untyped]
    GatewayParameters,
    JavaClass,
    JavaGateway,
    launch_gateway,
)
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from penstock.api.later import Later
from penstock.spark.errors import GatewayFailed, Interrupted

ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
DRIVER_CLASS_PATH = "spark.driver.extraClassPath"

# For a short run: little compilation, one garbage collector thread, little memory.
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")
# The jars of pyspark that Kafka's client needs; the last three read OAuth tokens.
_FROM_SPARK = ("slf4j-api-*.jar", "jackson-core-2*.jar", "jackson-databind-*.jar",
               "jackson-annotations-*.jar")  # fmt: skip
# Spark's launcher gets its settings as arguments, which all users of the machine can read. So it
# gets only settings that find classes, and none that could contain a secret.
_FOR_LAUNCHER = ("spark.jars", "spark.driver.extra")
_STOP_TIMEOUT_S = 5.0
_launched_by_spark = Later("penstock.spark.launched_gateway:launched_by_spark")


@dataclass(frozen=True, slots=True)
class JvmSpec:
    """What the JVM is started with: the pinned jars, and the user's settings of Spark."""

    java: Path
    jars: Sequence[Path]
    settings: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()


@contextmanager
def kafka_jvm(spec: JvmSpec) -> Iterator[Any]:
    """Give the `jvm` of a new gateway, and stop it on every way out, Ctrl-C included.

    The JVM also ends when this process is killed. Its log is discarded.
    """
    with _own_interrupts(), tempfile.TemporaryFile() as log:
        gateway, process = _started(spec, log)
        try:
            _check_client(gateway.jvm)
            yield gateway.jvm
        finally:
            _stop(gateway, process)


def kafka_java_options(*clients: Mapping[str, str]) -> tuple[str, ...]:
    """The JVM options that settings of Kafka need: token endpoints must be allowed by name."""
    given = [setting for settings in clients for setting in settings.items()]
    urls = sorted({value for key, value in given if key.lower().endswith("endpoint.url")})
    return (f"-D{ALLOWED_URLS}={','.join(urls)}",) if urls else ()


def with_java_options(given: str, options: Sequence[str]) -> str:
    """Spark's settings with these JVM options added; the user's own options stay."""
    missing = [option for option in options if option.partition("=")[0] not in given]
    return " ".join(filter(None, [given, *map(shlex.quote, missing)]))


def class_path(spec: JvmSpec) -> list[str] | None:
    """The class path of the client, the user's jars first; None if only Spark can find them."""
    named = [name.strip() for name in spec.settings.get("spark.jars", "").split(",")]
    own = [_local(name) for name in named if name]
    if None in own or (not spec.jars and "spark.jars.packages" in spec.settings):
        return None
    beside = [jar for pattern in _FROM_SPARK for jar in sorted(_spark_jars().glob(pattern))]
    if not beside:
        return None
    extra = spec.settings.get(DRIVER_CLASS_PATH, "").split(os.pathsep)
    return [str(entry) for entry in (*extra, *own, *spec.jars, *beside) if entry]


def _spark_jars() -> Path:
    """The jars of pyspark, found without importing it: that takes longer than many a command."""
    spec = find_spec("pyspark")
    places = list((spec and spec.submodule_search_locations) or ())
    return Path(places[0] if places else ".", "jars")


def _local(name: str) -> str | None:
    """The path of a jar on this machine; None for one elsewhere, or for a pattern."""
    parts = urlsplit(name)
    if parts.scheme in {"", "file", "local"} and not set("*?[{") & set(parts.path):
        return parts.path or None
    return None


def _started(spec: JvmSpec, log: IO[bytes]) -> tuple[JavaGateway, "subprocess.Popen[bytes]"]:
    entries = class_path(spec)
    try:
        if entries is None:
            return _started_by_spark(spec, log)
        given = shlex.split(spec.settings.get(DRIVER_OPTIONS, ""))
        port, token, process = launch_gateway(
            classpath=os.pathsep.join(entries),
            javaopts=[*_JVM, *given, *spec.options],
            die_on_exit=True,
            redirect_stderr=log,
            java_path=str(spec.java),
            create_new_process_group=True,  # this process handles Ctrl-C
            enable_auth=True,
            return_proc=True,
        )
    except (OSError, ValueError, Py4JError) as error:
        raise GatewayFailed(_said(log) or str(error)) from error
    # Without converters: loading them imports pandas, and only plain strings are passed.
    parameters = GatewayParameters(port=port, auth_token=token, auto_convert=False)
    return JavaGateway(gateway_parameters=parameters), process


def _started_by_spark(
    spec: JvmSpec, log: IO[bytes]
) -> tuple[JavaGateway, "subprocess.Popen[bytes]"]:
    settings = {k: value for k, value in spec.settings.items() if k.startswith(_FOR_LAUNCHER)}
    options = with_java_options(spec.settings.get(DRIVER_OPTIONS, ""), spec.options)
    if options:
        settings[DRIVER_OPTIONS] = options
    if spec.jars:
        settings["spark.jars"] = ",".join(map(str, spec.jars))
    gateway, process = _launched_by_spark(settings, log)
    return gateway, process


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Let Ctrl-C pass through py4j; restored afterwards. Only the main thread gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Interrupted:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)


def _check_client(jvm: Any) -> None:
    """Raise if Kafka's client is missing: py4j treats an unknown class as a package."""
    if not isinstance(jvm.org.apache.kafka.clients.admin.AdminClient, JavaClass):
        raise GatewayFailed("there is no Kafka client on its class path")


def _stop(gateway: JavaGateway, process: "subprocess.Popen[bytes]") -> None:
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _said(log: IO[bytes]) -> str:
    """The first line of the JVM's output, for the error."""
    log.seek(0)
    lines = log.read(4000).decode(errors="replace").splitlines()
    return next((line.strip() for line in lines if line.strip()), "")
