"""The process from which Spark forks its Python workers, on a local master.

Spark's own daemon imports little more than pyspark, from a zip without compiled code, and every
worker imports all the rest again. This one imports everything before the first fork, from where it
is installed, and loads all compiled code. So workers start sooner, and share memory.
"""

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path

from penstock.runtime.worker import forget_archives
from penstock.spark import compiling


def without_archives(path: Sequence[str]) -> list[str]:
    """A search path without the archives of an installed pyspark; all other entries stay."""
    archives = {entry for entry in path if entry.endswith((".zip", ".jar"))}
    found = PathFinder.find_spec("pyspark", [entry for entry in path if entry not in archives])
    if found is None or found.origin is None:
        return list(path)
    home = Path(found.origin).parent.resolve()
    spark = {entry for entry in archives if Path(entry).resolve().is_relative_to(home)}
    return [entry for entry in path if entry not in spark]


def main() -> None:
    """Import what tasks need, then serve Spark as its own daemon does."""
    sys.path[:] = without_archives(sys.path)  # before anything is imported from the archives
    forget_archives()
    import_module("penstock.datapath.stage.task")
    import_module("penstock.datapath.codec.codecs").load_built_in()
    compiling.load()
    import_module("penstock.datapath.formats.quarantine_format").load_parts()
    import_module("pyarrow").array([""])  # the first array imports pandas, if installed
    daemon = import_module("pyspark.daemon")
    gc.freeze()  # none of this is garbage, so workers need not scan it
    daemon.manager()


if __name__ == "__main__":
    main()
