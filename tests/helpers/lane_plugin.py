"""Orders test files by how long they take, and tells at the end what each lane took.

With pytest-xdist every file is a group, unless its mark sends it elsewhere, so what a module makes
once is made once. Workers take the groups in the order of `durations.json`, the longest first.
"""

import os
import time
from collections import defaultdict
from collections.abc import Generator
from typing import cast

import pytest

from tests.helpers.lanes import group_of, in_order, lane_of, read_stored, still_there, store, table

SERVERS = "servers, ending"  # a broker or a JVM is counted when it ends, after the last test
_CPU = "processor seconds"


class LanePlugin:
    """Lives in the process that reports and in every worker."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._began = time.monotonic()
        self._seen_cpu_s = _cpu_s()
        self._is_last = False
        self._wall: defaultdict[str, float] = defaultdict(float)
        self._cpu: defaultdict[str, float] = defaultdict(float)
        self._files: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The same order in every process, as pytest-xdist wants it."""
        groups: dict[str, list[str]] = {}
        names = {}
        for item in items:
            mark = item.get_closest_marker("xdist_group")
            file = _file_of(item.nodeid)
            names[item] = group_of(file, str(mark.args[0]) if mark else None)
            files = groups.setdefault(names[item], [])
            if file not in files:
                files.append(file)
            if mark is None:
                item.add_marker(pytest.mark.xdist_group(names[item]))
        places = {name: place for place, name in enumerate(in_order(groups, read_stored()))}
        items.sort(key=lambda item: places[names[item]])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, nextitem: pytest.Item | None) -> Generator[None, bool, bool]:
        """Know the last test of a process: what lives as long as the process ends with it."""
        self._is_last = nextitem is None
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self,
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Write down what this process and its dead children have used since the last report."""
        report = yield
        now = _cpu_s()
        lane = SERVERS if self._is_last and report.when == "teardown" else ""
        report.user_properties.append((_CPU, (now - self._seen_cpu_s, lane)))
        self._seen_cpu_s = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sum up, where the reports of all workers arrive."""
        file = _file_of(report.nodeid)
        for name, noted in report.user_properties:
            if name != _CPU:
                continue
            cpu_s, ending = cast("tuple[float, str]", noted)
            lane = ending or lane_of(file)
            self._wall[lane] += report.duration
            self._cpu[lane] += cpu_s
            if not ending:
                self._files[file] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Seconds per lane, and what they come to on the clock."""
        if not self._files or hasattr(self._config, "workerinput"):
            return
        terminalreporter.section("seconds per lane")
        for line in table(self._wall, self._cpu):
            terminalreporter.write_line(line)
        took = time.monotonic() - self._began
        terminalreporter.write_line(f"all of it took {took:.0f} s on the clock")
        if self._config.getoption("--store-durations"):
            store(still_there(read_stored(), self._config.rootpath) | self._files)


def _file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _cpu_s() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
