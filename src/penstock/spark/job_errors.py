"""Why a job failed, in one line: the cause that its task gave, and where the whole trace is."""

import re

from penstock.spark.log_file import current_log

MOST = 400
_TRACE = "Traceback (most recent call last):"
_RAISED = re.compile(r"[\w.]+: .|[\w.]*(?:Error|Exception|Interrupt|Exit)$")
_CAUSE = "Caused by: "
# As Python says it; and as we say it of an extra, when that is all that Spark passes on.
_NO_MODULE = re.compile(
    r"(?:ModuleNotFoundError: No module named|EXTRA_MISSING: The \S+ \S+ needs the module)"
    r" '([\w.]+)'"
)
_HOST = re.compile(r"Lost task [\d.]+ in stage [\d.]+ \(TID \d+\) \((\S+) executor ")
_CALLING = "An error occurred while calling"  # py4j's first line; Java's error comes after it


def cause_of_job(error: Exception) -> str:
    """The cause of a failed job in one line, and the log that has the trace."""
    cause = missing_package(error) or first_line(error).rstrip(".")
    log = current_log()
    return cause if log is None else f"{cause} (the whole trace is in {log})"


def missing_package(error: Exception) -> str:
    """The host on which a task could not import a package, and which; nothing if it was not that.

    Nothing of ours runs in such a task, so that it is Spark that tells. Its error has the host in
    the trace of the JVM alone, which is no part of its text.
    """
    said = f"{error}\n{getattr(error, '_stackTrace', '')}"
    modules, hosts = _NO_MODULE.findall(said), _HOST.findall(said)
    if not modules:
        return ""
    where = f"the executor on host {hosts[-1]}" if hosts else "an executor"
    package = modules[-1].partition(".")[0]
    return f"{where} has no Python package {package!r}, which the driver has"


def first_line(error: Exception) -> str:
    """The line of an error's text that says most.

    That is what ends the last trace of Python, or Java's innermost cause; else the first line that
    is not py4j's own.
    """
    lines = str(error).splitlines()
    raised = _ends_of_traces(lines)
    causes = [line.strip() for line in lines if line.strip().startswith(_CAUSE)]
    said = [line.strip(": \t") for line in lines if line.strip() and not line.startswith(_CALLING)]
    return (raised[-1:] or causes[-1:] or said[:1] or ["no cause given"])[0][:MOST]


def java_causes(error: Exception) -> list[str]:
    """Java's exceptions in an error's text, the outermost first, each as its class and message."""
    lines = [line.strip() for line in str(error).splitlines()]
    found = [
        line.removeprefix(_CAUSE).removeprefix(": ")
        for line in lines
        if line.startswith((_CAUSE, ": "))
    ]
    return [line for line in found if _RAISED.match(line)]


def _ends_of_traces(lines: list[str]) -> list[str]:
    """What was raised, of each trace of a Python worker: the first line below it at its margin."""
    found = []
    margin: int | None = None
    for line in lines:
        at = line.find(_TRACE)
        if at >= 0:
            margin = len(line) - len(line.lstrip())
        elif margin is not None and line.strip():
            here = line[margin:]
            if not here.startswith((" ", "\t")):
                if _RAISED.match(here):
                    found.append(here.strip())
                margin = None
    return found
