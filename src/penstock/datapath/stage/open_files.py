"""The open files of a task, within one budget of bytes whatever their number."""

import pyarrow as pa

from penstock.api.store import Store
from penstock.datapath.stage.open_file import FileStarter, FileTarget, OpenFile, Spot
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.model.evidence import Evidence
from penstock.model.manifest import ManifestFile
from penstock.runtime.surroundings import Beside

# Files wait for the disk together; each of them holds a descriptor until it is durable.
OPEN_FILES = 128


class OpenFiles:
    """All files that a task attempt writes. Used by one thread."""

    def __init__(self, store: Store, plan: ShredPlan, attempt: str) -> None:
        self._starter = FileStarter(store, plan, attempt)
        self._limit_bytes = plan.buffer_bytes - plan.waiting_bytes
        self._files: dict[tuple[str, str, int, int], OpenFile] = {}
        self._buffered_bytes = 0

    def look_at(self, dataset: str, rows: pa.RecordBatch) -> None:
        """See from a dataset's first rows how its files are best written."""
        self._starter.look_at(dataset, rows)

    def add(
        self,
        target: FileTarget,
        batch: pa.RecordBatch,
        span: tuple[Spot, Spot],
        evidence: Evidence,
        size_bytes: int,
    ) -> None:
        """Buffer rows, and write the largest buffers when all together are too large."""
        part = target.part
        key = (target.dataset, target.directory, part.group, part.number)
        file = self._files.get(key)
        if file is None:
            file = self._files[key] = OpenFile(target, self._starter)
        file.add(batch, span, evidence, size_bytes)
        self._buffered_bytes += size_bytes
        if self._buffered_bytes > self._limit_bytes:
            self._make_room()

    def finish_group(self, group: int) -> list[ManifestFile]:
        """Close the files of one group, and wait until the store has all of them for good."""
        files = [self._files[key] for key in sorted(self._files) if key[2] == group]
        with Beside() as beside:
            for start in range(0, len(files), OPEN_FILES // 2):
                some = files[start : start + OPEN_FILES // 2]
                for file in some:
                    self._buffered_bytes -= file.buffered_bytes
                    file.close()
                beside.do([file.sync for file in some])
        # Only now, so that a store can make the names of all of them durable at once.
        for file in files:
            file.make_durable()
        self._files = {key: each for key, each in self._files.items() if key[2] != group}
        if not self._files:
            self._starter.spool.clear()
        return [file.described() for file in files]

    def abandon(self) -> None:
        """Remove everything that was begun."""
        for file in self._files.values():
            file.abandon()
        self._files.clear()
        self._starter.spool.clear()

    def _make_room(self) -> None:
        """Write the largest buffers until half of the budget is free."""
        for file in sorted(self._files.values(), key=_by_size):
            if self._buffered_bytes <= self._limit_bytes // 2:
                return
            self._buffered_bytes -= file.flush()


def _by_size(file: OpenFile) -> int:
    return -file.buffered_bytes
