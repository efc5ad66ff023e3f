"""The package as a zip: what the executors of a cluster get."""

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
