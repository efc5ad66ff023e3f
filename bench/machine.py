"""On what, and when, something was measured."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def machine() -> dict[str, object]:
    """The machine and how busy it is, for whoever reads the results later."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _first("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(int(_first("/proc/meminfo", "MemTotal").split()[0]) / 2**20, 1),
        "load_1_min": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "spark": version("pyspark"),
        "pyarrow": version("pyarrow"),
    }


def _first(file: str, name: str) -> str:
    """The value of the first line that begins with a name."""
    for line in Path(file).read_text(encoding="utf-8").splitlines():
        if line.startswith(name):
            return line.partition(":")[2].strip()
    return ""
