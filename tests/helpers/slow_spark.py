"""A Spark whose JVM never answers, without a JVM: pyspark starts a script in place of it."""

import os
import time
from pathlib import Path
from threading import RLock

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

JAVA = "#!/bin/sh\necho 'openjdk version \"17.0.9\"' >&2\n"
# As Spark's launcher does: a helper first, then the JVM in the same process.
SUBMIT = """#!/bin/sh
echo $$ > {home}/begun
(sleep 0.2; echo $$ > {home}/helped) &
i=0; while [ $i -lt 400 ]; do sleep 0.1; i=$((i+1)); done
touch {home}/waited
exit 1
"""


class SlowSpark:
    """What is left of it says whether it was waited for."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch) -> None:
        self.home = home
        for name, text in {"bin/java": JAVA, "bin/spark-submit": SUBMIT}.items():
            program = home / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(text.format(home=home))
            program.chmod(0o755)
        # A session of other tests in this process would be taken, and nothing started.
        for name in ("_gateway", "_jvm", "_active_spark_context"):
            patch.setattr(SparkContext, name, None)
        patch.setattr(SparkSession, "_instantiatedSession", None)
        patch.setattr(SparkContext, "_lock", RLock())  # a start that hangs elsewhere holds it
        patch.setattr(SparkSession.Builder, "_lock", RLock())
        for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_REMOTE"):
            patch.delenv(name, raising=False)
        patch.setenv("JAVA_HOME", str(home))
        patch.setenv("SPARK_HOME", str(home))

    def wait_until_begun(self, within_s: float = 60.0) -> int:
        """The process of the JVM, once there is one."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            begun = self.home / "begun"
            if begun.exists() and begun.read_text().strip():
                return int(begun.read_text())
            time.sleep(0.02)
        raise AssertionError("Spark was never started")

    @property
    def is_gone(self) -> bool:
        """True when it was ended, and nobody has waited until it ends by itself."""
        try:
            os.kill(int((self.home / "begun").read_text()), 0)
        except ProcessLookupError:
            return not (self.home / "waited").exists()
        return False
