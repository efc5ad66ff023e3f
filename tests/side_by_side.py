"""Runs the files of a folder of tests in a few plain pytests: `python -m tests.side_by_side`.

For thousands of short tests. pytest-xdist lets every worker collect all of them and passes every
report through one process; here each process collects its own share and reports by itself. The
shares are made from the stored durations. There is one process more than cores, because some tests
wait for a time limit. Temporary files lie in memory where there is room: tests make tens of
thousands of small ones. `make test` uses pytest-xdist, which shares better where tests are long.
"""

import argparse
import heapq
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.helpers.lanes import UNKNOWN_S, read_stored

ROOT = Path(__file__).parents[1]
NOTHING_COLLECTED = 5
IN_MEMORY = Path("/dev/shm")
LEAST_FREE_BYTES = 1 << 30  # containers often have 64 MB of it


def shares(files: Sequence[str], stored: dict[str, float], processes: int) -> list[list[str]]:
    """Files for each process, so that all end at about the same time."""
    taken: list[tuple[float, int, list[str]]] = [(0.0, n, []) for n in range(processes)]
    for file in sorted(files, key=lambda each: (-stored.get(each, UNKNOWN_S), each)):
        seconds, number, share = taken[0]
        share.append(file)
        heapq.heapreplace(taken, (seconds + stored.get(file, UNKNOWN_S), number, share))
    return [share for _, _, share in sorted(taken, key=lambda each: each[1]) if share]


def place_of_files(in_memory: Path = IN_MEMORY, least_bytes: int = LEAST_FREE_BYTES) -> Path | None:
    """Where temporary files lie in memory; None without such a place or without room in it."""
    usable = in_memory.is_dir() and os.access(in_memory, os.W_OK | os.X_OK)
    return in_memory if usable and shutil.disk_usage(in_memory).free >= least_bytes else None


def run_shares(made: Sequence[Sequence[str]], options: Sequence[str], place: Path | None) -> int:
    """The worst exit status. The first process writes here, the others when it has ended."""
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "-q"]
    command += ["-o", "tmp_path_retention_policy=failed"]
    directory = Path(tempfile.mkdtemp(prefix="penstock-tests-", dir=place))
    worst = 0
    try:
        worst = _run_all([[*command, *options, *share] for share in made], directory)
    finally:
        if worst:
            print(f"files of tests that failed: {directory}", file=sys.stderr)
        else:
            shutil.rmtree(directory, ignore_errors=True)
    return worst


def _run_all(commands: Sequence[Sequence[str]], directory: Path) -> int:
    outputs = [directory / f"output-{number}" for number in range(1, len(commands))]
    running = []
    try:
        for number, (command, output) in enumerate(zip(commands, [None, *outputs], strict=True)):
            with (output or Path(os.devnull)).open("w") as file:
                stdout = None if output is None else file
                own = [*command, f"--basetemp={directory / str(number)}"]
                running.append(subprocess.Popen(own, cwd=ROOT, stdout=stdout))
        codes = [process.wait() for process in running]
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()  # what it writes is removed next
    for output in outputs:
        sys.stdout.write(output.read_text())
    return max(codes)


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="a folder of tests, such as tests/unit")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)) + 1)
    parsed, options = parser.parse_known_args()
    files = sorted(str(f.relative_to(ROOT)) for f in (ROOT / parsed.folder).rglob("test_*.py"))
    if not files:
        print(f"there are no tests in {parsed.folder}", file=sys.stderr)
        return NOTHING_COLLECTED
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # and end the others
    made = shares(files, read_stored(), parsed.processes)
    return run_shares(made, options, place_of_files())


if __name__ == "__main__":
    sys.exit(main())
