"""A feed whose lake is on a site's HDFS: its configuration, its process, and a copy to count."""

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hdfs_native import Client

from penstock.testing.servers import GuardedProcess
from tests.integration.processes import search_path

CONFIG = """
version: 1
lake: {lake}
store: {{{settings}}}
kafka: {{bootstrap.servers: "{bootstrap}"}}
spark:
  spark.master: "local[2]"
  spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
feeds:
  events:
    topics: [{topic}]
    route: {{by: "field:type"}}
    time: {{field: event_time, unit: ms}}
    window: {{max_records: {max_records}}}
    quarantine: {{min_records: 1_000_000}}
"""
PATIENCE_S = 480.0
_POLL_S = 0.2
_END_OF_LOG = 1500


@dataclass(frozen=True)
class SiteJob:
    """A feed in a directory of HDFS. `client` is not ours, and `environment` is what both need."""

    directory: Path
    bootstrap: str
    topic: str
    lake: str
    settings: Mapping[str, str]
    max_records: int
    client: Client
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """The directory of the lake."""
        return "/" + self.lake.removeprefix("hdfs://").partition("/")[2]

    @property
    def log(self) -> Path:
        """What the processes have printed."""
        return self.directory / "child.log"

    def run_once(self) -> GuardedProcess:
        """Start a plain `penstock run --once`: nothing inside it knows that it is tried."""
        config = self.directory / "penstock.yaml"
        words = {name: f'{name}: "{word}"' for name, word in self.settings.items()}
        config.write_text(
            CONFIG.format(
                lake=self.lake,
                settings=", ".join(words.values()),
                bootstrap=self.bootstrap,
                topic=self.topic,
                max_records=self.max_records,
            )
        )
        variables = {**self.environment, "PYTHONPATH": search_path()}
        command = ["env", *(f"{name}={word}" for name, word in variables.items())]
        command += [sys.executable, "-m", "penstock", "run", "--once", "--config", str(config)]
        return GuardedProcess(command, self.directory, self.log)

    def said(self) -> str:
        """The end of what the processes have printed."""
        return self.log.read_text(errors="replace")[-_END_OF_LOG:]

    def files(self) -> dict[str, int]:
        """Every file of the lake with its size."""
        found = self.client.list_status(self.root, recursive=True)
        return {each.path: each.length for each in found if not each.isdir}

    def data_files(self) -> dict[str, int]:
        """Those that readers see."""
        return {path: size for path, size in self.files().items() if path.endswith(".parquet")}

    def mirror(self) -> Path:
        """A copy of the lake in a new directory, which is then a lake like any other."""
        copy = Path(tempfile.mkdtemp(prefix="mirror-", dir=self.directory))
        for path in self.files():
            target = copy / path.removeprefix(f"{self.root}/")
            target.parent.mkdir(parents=True, exist_ok=True)
            with self.client.read(path) as content:
                target.write_bytes(content.read())
        return copy


class SiteRun:
    """A process that runs, and how far it is."""

    def __init__(self, job: SiteJob, process: GuardedProcess) -> None:
        self._job = job
        self._process = process
        self._seen = 0

    @property
    def is_over(self) -> bool:
        """Whether it has ended by itself."""
        return self._process.exit_code is not None

    def await_more_files(self) -> None:
        """Return when it has published since the last look, or raise: it is over, or it hangs."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := self._files()) <= self._seen:
            assert not self.is_over, f"over with {found} files: {self._job.said()}"
            assert time.monotonic() < deadline, f"no file in {PATIENCE_S} s: {self._job.said()}"
            time.sleep(_POLL_S)
        self._seen = found

    def end(self) -> str:
        """Wait for its end, and say what went wrong with it."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_over:
            if time.monotonic() > deadline:
                return f"not over after {PATIENCE_S:.0f} s: {self._job.said()}"
            time.sleep(_POLL_S)
        code = self._process.exit_code
        return "" if code == 0 else f"ended with {code}: {self._job.said()}"

    def _files(self) -> int:
        try:
            return len(self._job.data_files())
        except FileNotFoundError:
            return 0


@contextmanager
def running(job: SiteJob) -> Iterator[SiteRun]:
    """A process that does not outlive the block."""
    process = job.run_once()
    try:
        yield SiteRun(job, process)
    finally:
        process.kill()
