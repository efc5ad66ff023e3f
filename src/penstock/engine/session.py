"""The Spark session that everything runs in."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.engine.gateway import with_java_options

BATCH_ROWS = "20000"
BATCH_BYTES = str(64 * 1024 * 1024)


JVM_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")


def open_session(
    name: str, settings: Mapping[str, str], jars: list[Path], java_options: Sequence[str] = ()
) -> SparkSession:
    """Start Spark, or join the session that is there. The user's settings win over ours.

    `java_options` are added to those of the user, for the driver and for the tasks.
    """
    builder = SparkSession.builder.appName(f"penstock {name}")
    ours = {
        "spark.master": "local[*]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": BATCH_ROWS,
        "spark.sql.execution.arrow.maxBytesPerBatch": BATCH_BYTES,
    }
    is_local = settings.get("spark.master", "local").startswith("local")
    if is_local:
        ours["spark.driver.bindAddress"] = "127.0.0.1"
        ours["spark.driver.host"] = "127.0.0.1"
    if jars:
        ours["spark.jars"] = ",".join(str(jar) for jar in jars)
    added = {
        key: with_java_options(settings.get(key, ""), java_options)
        for key in JVM_OPTIONS
        if java_options
    }
    for key, value in {**ours, **settings, **added}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if is_local:
        # A local worker must be this very Python, or it will not find what is installed here.
        session.sparkContext.pythonExec = sys.executable
    return session
