"""Where a task keeps what it cannot send yet: on the disk that Spark was given. Executor.

Python would take the temporary directory of the machine. In a container that is often small, or in
memory, while `spark.local.dir` is where an operator has made room.
"""

import tempfile

from penstock.config.places import spark_scratch
from penstock.runtime.worker import is_worker


def spool_on_sparks_disk() -> None:
    """Let temporary files of this process lie in Spark's scratch directory. Executor.

    Elsewhere it does nothing, and also where `TMPDIR` says what the operator wants.
    """
    place = spark_scratch() if is_worker() else None
    if place is not None:
        tempfile.tempdir = str(place)
