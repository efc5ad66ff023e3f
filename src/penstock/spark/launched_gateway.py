"""A gateway that Spark's own launcher starts, where only Spark can find the user's jars."""

import subprocess
from typing import IO

from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]
from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway


def launched_by_spark(
    settings: dict[str, str], log: IO[bytes]
) -> tuple[JavaGateway, "subprocess.Popen[bytes]"]:
    """The gateway and its process; what it writes goes to the log. Raises `OSError`."""
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": log}
    try:
        gateway = launch_gateway(conf, quiet)  # type: ignore[no-untyped-call]
    except PySparkRuntimeError as error:
        raise OSError(str(error)) from error
    return gateway, gateway.proc
