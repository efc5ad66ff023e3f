"""The cause of a failed job in one line, whatever else its text has."""

from pathlib import Path

import pytest

from penstock.spark import log_file
from penstock.spark.job_errors import cause_of_job, first_line, missing_package

IN_A_WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "task.py", line 7, in run
    store.write(data)
  File "store.py", line 9, in write
    raise StoreUnavailable("write", key, why) from error
penstock.errors.StoreUnavailable: STORE_UNAVAILABLE: The store did not write 'x': No space left.

\tat org.apache.spark.api.python.BasePythonRunner(PythonRunner.scala:600)
Driver stacktrace:
"""
CHAINED = """Traceback (most recent call last):
  File "a.py", line 1, in a
OSError: [Errno 28] No space left on device

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "b.py", line 2, in b
store.NoSpace: the disk is full
"""
IN_JAVA = """An error occurred while calling o77.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure
\tat org.apache.spark.Foo(Foo.scala:1)
Caused by: java.lang.IllegalStateException: Cannot fetch offset 9
\tat org.apache.spark.Bar(Bar.scala:2)
Caused by: org.apache.kafka.common.errors.TimeoutException: the broker is gone
\tat java.base/Thread.run(Thread.java:1)
"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            IN_A_WORKER,
            "penstock.errors.StoreUnavailable: STORE_UNAVAILABLE: The store did not write 'x': "
            "No space left.",
        ),
        (CHAINED, "store.NoSpace: the disk is full"),
        (
            IN_JAVA,
            "Caused by: org.apache.kafka.common.errors.TimeoutException: the broker is gone",
        ),
        (
            "An error occurred while calling o77.collectToPython.\n"
            ": org.apache.spark.SparkException: Job aborted: bigger than maxResultSize\n"
            "\tat org.apache.spark.Foo(Foo.scala:1)\n",
            "org.apache.spark.SparkException: Job aborted: bigger than maxResultSize",
        ),
        ("Traceback (most recent call last):\n  File\nMemoryError\n", "MemoryError"),
        ("\n\nthe job was cancelled\n", "the job was cancelled"),
        ("", "no cause given"),
    ],
)
def test_the_line_that_says_most_is_found(text: str, cause: str) -> None:
    assert first_line(Exception(text)) == cause


def test_a_long_line_is_cut() -> None:
    assert len(first_line(Exception("x" * 10_000))) == 400


def test_the_message_names_the_file_with_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "_current", [])
    assert cause_of_job(Exception("it failed.")) == "it failed"
    monkeypatch.setattr(log_file, "_current", [tmp_path / "spark-1.log"])
    told = cause_of_job(Exception("it failed."))
    assert told == f"it failed (the whole trace is in {tmp_path / 'spark-1.log'})"


class PythonWorkerError(Exception):
    """As pyspark has it: the trace of the worker as its text, that of the JVM beside it."""

    def __init__(self, text: str, trace: str) -> None:
        super().__init__(text)
        self._stackTrace = trace


NO_BOTO3 = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "find.py", line 129, in _imported
ModuleNotFoundError: No module named 'boto3.session'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "worker.py", line 3, in main
penstock.api.errors.ExtraMissing: EXTRA_MISSING: The store 's3' needs the module 'boto3'
"""
LOST = """org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0
failed 4 times, most recent failure: Lost task 0.3 in stage 3.0 (TID 9) (10.0.0.7 executor 2):
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
"""


def test_a_package_that_an_executor_lacks_is_named_with_its_host() -> None:
    error = PythonWorkerError(NO_BOTO3, LOST)
    sentence = "the executor on host 10.0.0.7 has no Python package 'boto3', which the driver has"
    assert missing_package(error) == sentence
    assert cause_of_job(error).startswith(sentence)


def test_an_extra_that_an_executor_lacks_is_named_too_where_the_cause_is_not_passed_on() -> None:
    text = NO_BOTO3[NO_BOTO3.index("penstock.api") :]  # as Spark 4.1 shortens it
    found = missing_package(PythonWorkerError(text, LOST))
    assert found.startswith("the executor on host 10.0.0.7 has no Python package 'boto3'")


def test_without_a_host_in_the_trace_the_package_is_named_alone() -> None:
    assert missing_package(Exception(NO_BOTO3)).startswith("an executor has no Python package")
    assert missing_package(Exception(IN_A_WORKER)) == ""
