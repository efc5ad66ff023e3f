"""Runs the files of a folder of tests in one plain pytest per core: `python -m tests.side_by_side`.

For thousands of short tests. pytest-xdist lets every worker collect all of them and passes every
report through one process; here each process collects its own share and reports by itself. The
shares are made from the stored durations. `make test` uses pytest-xdist, which shares better where
tests are long.
"""

import argparse
import heapq
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.helpers.lanes import UNKNOWN_S, read_stored

ROOT = Path(__file__).parents[1]
NOTHING_COLLECTED = 5


def shares(files: Sequence[str], stored: dict[str, float], processes: int) -> list[list[str]]:
    """Files for each process, so that all end at about the same time."""
    taken: list[tuple[float, int, list[str]]] = [(0.0, n, []) for n in range(processes)]
    for file in sorted(files, key=lambda each: (-stored.get(each, UNKNOWN_S), each)):
        seconds, number, share = taken[0]
        share.append(file)
        heapq.heapreplace(taken, (seconds + stored.get(file, UNKNOWN_S), number, share))
    return [share for _, _, share in sorted(taken, key=lambda each: each[1]) if share]


def run_shares(made: Sequence[Sequence[str]], options: Sequence[str]) -> int:
    """The worst exit status. The first process writes here, the others when it has ended."""
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "-q"]
    with tempfile.TemporaryDirectory() as directory:
        outputs = [Path(directory, str(number)) for number in range(1, len(made))]
        running = []
        try:
            for share, output in zip(made, [None, *outputs], strict=True):
                with (output or Path(os.devnull)).open("w") as file:
                    stdout = None if output is None else file
                    process = subprocess.Popen(
                        [*command, *options, *share], cwd=ROOT, stdout=stdout
                    )
                running.append(process)
            codes = [process.wait() for process in running]
        finally:
            for process in running:
                process.terminate()
        for output in outputs:
            sys.stdout.write(output.read_text())
    return max(codes)


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="a folder of tests, such as tests/unit")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parsed, options = parser.parse_known_args()
    files = sorted(str(f.relative_to(ROOT)) for f in (ROOT / parsed.folder).rglob("test_*.py"))
    if not files:
        print(f"there are no tests in {parsed.folder}", file=sys.stderr)
        return NOTHING_COLLECTED
    return run_shares(shares(files, read_stored(), parsed.processes), options)


if __name__ == "__main__":
    sys.exit(main())
