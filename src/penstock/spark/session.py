"""The Spark session that everything runs in."""

import atexit
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from penstock.config.places import java_home, log_directory
from penstock.runtime.worker import DAEMON
from penstock.spark.batch_size import BYTES_KEY, KEEP_APART, ROWS, ROWS_KEY, UNBOUNDED
from penstock.spark.errors import SparkFailed
from penstock.spark.gateway import with_java_options
from penstock.spark.java import find_java
from penstock.spark.job_errors import first_line
from penstock.spark.jvm_process import JvmProcess
from penstock.spark.log_file import CONFIGURATION, close_log, first_words, open_log
from penstock.spark.log_file import java_options as log_options
from penstock.spark.package import package_zip
from penstock.spark.warm_up import start_workers

TASK_TRIES = 4  # as on a cluster; a plain local master gives a task only one

_LOCAL = re.compile(r"local(?:\[(\d+|\*)\])?")


JVM_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
# Every record goes to Python as Arrow. Spark makes room before it writes there, so that checking
# each write once more only takes time: a fifth of the JVM's share.
ARROW = (
    "-Darrow.enable_unsafe_memory_access=true",
    "-Darrow.enable_null_check_for_get=false",
)

# No job may read what an earlier one had fetched (see `consumer_groups.py`). Spark would keep the
# consumers of finished jobs all the same, 64 of them for five minutes, each with what it fetched
# ahead: most of a heap of a gigabyte.
KEEPING = {
    "spark.kafka.consumer.cache.capacity": "1",
    "spark.kafka.consumer.cache.timeout": "1s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "1s",
    "spark.kafka.consumer.fetchedData.cache.timeout": "1s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "1s",
}

# Names of settings whose values Spark hides in its page, its event log and its plans. Its default
# does not know the logins of Kafka.
REDACTION = "spark.redaction.regex"
HIDDEN_NAMES = r"(?i)secret|password|passphrase|token|access[._-]?key|credential|jaas|keystore\.key"


def open_session(
    name: str,
    settings: Mapping[str, str],
    jars: list[Path],
    java_options: Sequence[str] = (),
    private: Set[str] = frozenset(),
    *,
    jvm: JvmProcess | None = None,
) -> SparkSession:
    """Start Spark, or join the session that is there. The user's settings win over ours.

    `java_options` are added to those of the user, for the driver and for the tasks. The settings
    named in `private` never stand on the JVM's command line, where every user could read them. A
    JVM that is started can be ended with `jvm` meanwhile.
    """
    find_java(java_home())  # said in one sentence, before anything is started
    ours = {
        "spark.master": "local[*]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",  # no feed's job waits for all tasks of another's
        "spark.sql.session.timeZone": "UTC",
        ROWS_KEY: str(ROWS),
        BYTES_KEY: UNBOUNDED,
        KEEP_APART: "false",
        **KEEPING,
    }
    is_local = settings.get("spark.master", "local").startswith("local")
    if is_local:
        # Tasks hand every record to a worker of this machine, and this is the cheaper way.
        ours["spark.python.unix.domain.socket.enabled"] = "true"
        if "spark.pyspark.python" not in settings:  # another Python may not have us
            ours["spark.python.daemon.module"] = DAEMON
        ours["spark.driver.bindAddress"] = "127.0.0.1"
        ours["spark.driver.host"] = "127.0.0.1"
    if jars:
        ours["spark.jars"] = ",".join(str(jar) for jar in jars)
    log = _log_for(settings)
    quiet = () if log is None else log_options(log)
    added = {
        key: with_java_options(settings.get(key, ""), options)
        for key, options in zip(
            JVM_OPTIONS, ([*java_options, *ARROW, *quiet], [*java_options, *ARROW]), strict=True
        )
    }
    chosen = {**ours, **settings, **added, REDACTION: redaction(settings.get(REDACTION, ""))}
    chosen["spark.master"] = with_tries(chosen["spark.master"])
    public = {key: value for key, value in chosen.items() if key not in private}
    session = _started(name, chosen, public, _Launch(jvm or JvmProcess(), log))
    if "spark.pyspark.python" in settings:
        # Only spark-submit reads it; a program that starts Spark itself has to pass it on.
        session.sparkContext.pythonExec = settings["spark.pyspark.python"]
    elif is_local:
        # A local worker must be this very Python, or it will not find what is installed here.
        session.sparkContext.pythonExec = sys.executable
        start_workers(session)
    if not is_local:
        _ship_package(session)
    return session


def redaction(own: str) -> str:
    """The names of settings whose values Spark shall hide: the user's, and always ours."""
    return f"(?:{own})|(?:{HIDDEN_NAMES})" if own else HIDDEN_NAMES


def _ship_package(session: SparkSession) -> None:
    """Give our code to executors on other machines; what we depend on must be installed there.

    They fetch it from here whenever they come, so it stays until this process ends.
    """
    scratch = tempfile.mkdtemp(prefix="penstock-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    session.sparkContext.addPyFile(str(package_zip(Path(scratch))))


def _log_for(settings: Mapping[str, str]) -> Path | None:
    """The file for what a new JVM says; None where one runs already, or the user has chosen."""
    if SparkContext._gateway is not None or CONFIGURATION in settings.get(JVM_OPTIONS[0], ""):
        return None
    log = open_log(log_directory())
    atexit.register(close_log, log)
    return log


@dataclass(frozen=True, slots=True)
class _Launch:
    """How a JVM is started: what notes its process, and the file for what it says."""

    jvm: JvmProcess
    log: Path | None


def _started(
    name: str, chosen: Mapping[str, str], public: Mapping[str, str], launch: _Launch
) -> SparkSession:
    """The session with these settings; raises `SparkFailed`."""
    log = launch.log
    try:
        with launch.jvm.launching():
            launch_jvm(public, log)
        builder = SparkSession.builder.appName(f"penstock {name}")
        for key, value in chosen.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()
    except (Py4JError, PySparkException, OSError) as error:
        # A JVM that has ended has said why; py4j only knows that it is gone.
        said = first_words(log) if SparkContext._gateway is None and log is not None else ""
        raise SparkFailed(said or first_line(error), log) from error


def launch_jvm(settings: Mapping[str, str], log: Path | None = None) -> None:
    """Start the JVM that the session will run in, with these settings on its command line.

    What it writes to its stderr goes to the log; what it logs follows the settings.
    """
    if SparkContext._gateway is not None:
        return
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    if log is None:
        gateway = launch_gateway(conf)  # type: ignore[no-untyped-call]
    else:
        with log.open("ab") as said:
            gateway = launch_gateway(conf, {"stderr": said})  # type: ignore[no-untyped-call]
    SparkContext._ensure_initialized(gateway=gateway)


def with_tries(master: str) -> str:
    """A local master whose tasks are tried again, so that a lost worker costs a task, not a job."""
    found = _LOCAL.fullmatch(master)
    return f"local[{found[1] or 1},{TASK_TRIES}]" if found else master


def _forget_jvm() -> None:
    """Let a later session of this process start a JVM of its own: that of now has ended."""
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


class StartingSession:
    """A session that starts on a thread of its own, while the journals are folded.

    The thread also keeps Spark from putting its own Ctrl-C handler over ours. `start` gets what
    notes the JVM that it starts.
    """

    def __init__(self, start: Callable[[JvmProcess], SparkSession]) -> None:
        self._start = start
        self._jvm = JvmProcess()
        self._session: SparkSession | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="penstock-spark", daemon=True)
        self._thread.start()

    def get(self) -> SparkSession:
        """The session; waits until it is up, and raises what kept it from starting."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        if self._session is None:
            raise RuntimeError("the thread that starts Spark ended without a session")
        return self._session

    def stop(self, timeout_s: float | None = None) -> bool:
        """Stop Spark; one that still starts is ended. False: not in time, so it was killed."""
        if timeout_s is None:
            self._stop()
            return True
        thread = threading.Thread(target=self._stop, name="penstock-spark-stop", daemon=True)
        thread.start()
        thread.join(timeout_s)
        if thread.is_alive():
            self.kill()
        return not thread.is_alive()

    def kill(self) -> None:
        """End the JVM at once, and with it every task. Its Python workers see that and end."""
        self._jvm.kill()  # one that starts is known to nobody else
        gateway = SparkContext._gateway
        process = getattr(gateway, "proc", None)
        if process is not None:
            process.kill()

    def _stop(self) -> None:
        is_ended = self._thread.is_alive() and self._jvm.end()
        self._thread.join()
        if is_ended:
            self._session = None
            _forget_jvm()
        elif self._session is not None:
            self._session.stop()

    def _run(self) -> None:
        try:
            self._session = self._start(self._jvm)
        except Exception as error:  # noqa: BLE001  raised when the session is asked for
            self._error = error
