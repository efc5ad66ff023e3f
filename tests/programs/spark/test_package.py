"""The package as a zip: what the executors of a cluster get."""

import json
import os
import subprocess
import sys
from pathlib import Path

from penstock.spark.package import package_zip


def test_the_task_can_be_imported_from_the_zip_alone(tmp_path: Path) -> None:
    """Goal: nothing that a task needs is left behind. Method: import it, and ask where it lies."""
    made = package_zip(tmp_path)
    code = (
        "import penstock.datapath.stage.task as t, penstock.ports.store.local.local_store as s; "
        "print(t.__file__)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(made)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert ran.stdout.startswith(str(made))


def test_executors_find_the_code_that_was_compiled_wherever_their_zip_lies(tmp_path: Path) -> None:
    """Goal: an executor that comes later, or an image that has the code, compiles nothing.

    Method: call a small compiled function from what is installed, then from zips in two other
    directories with the same home, and let Numba count.
    """
    code = (
        "import numpy as np, sys\n"
        "from penstock.datapath.codec.shared.compiled_bytes import varint\n"
        "assert varint(np.array([0x96, 1], np.uint8), 0) == (150, 2)\n"
        "import json; from penstock.datapath.codec.shared.code_cache import code_place\n"
        "print(json.dumps([sum(varint.stats.cache_hits.values()), str(code_place())]))\n"
    )
    found = []
    for name in ("", "first", "second"):
        at = tmp_path / name
        at.mkdir(exist_ok=True)
        search = {"PYTHONPATH": str(package_zip(at))} if name else {}
        ran = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), **search},
        )
        found.append(json.loads(ran.stdout))
    assert [hits for hits, _ in found] == [0, 1, 1]
    assert len({place for _, place in found}) == 1
