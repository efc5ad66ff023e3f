"""The content of a deciding entry: files, their evidence, and what it consumes."""

from collections.abc import Iterable

from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.file_groups import NO_GROUP
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.staged import StagedHandle
from penstock.model.steps import Steps
from penstock.model.value import Value

QUARANTINE = "_quarantine"  # a separate group; dataset names never start with an underscore
INLINE_FILES = (
    1_000  # above these limits the content goes to a manifest object, so entries stay small
)
INLINE_RUNS = 10_000


class ManifestFile(Value, frozen=True):
    """One staged file as a task reported it. `dataset` is the directory name.

    `ranges` are those that it covers, in order; `group` is the number of its file group in the
    window, which formats before 4 do not have.
    """

    dataset: str
    handle: StagedHandle
    evidence: Evidence
    ranges: tuple[OffsetRange, ...]
    schema: int = 0
    group: int = NO_GROUP


class Group(Value, frozen=True):
    """The part of an entry that belongs to one dataset, and the steps that were decided for it."""

    dataset: str
    files: int
    rows: int
    size_bytes: int
    steps: Steps


class RecordSet(Value, frozen=True):
    """Quarantined records of one partition for one dataset.

    If records become several rows: those of their rows that have one number.
    """

    topic: str
    topic_id: str
    partition: int
    dataset: str
    offsets: OffsetSet
    row: int = 0


class Input(Value, frozen=True):
    """A live file that an entry removes from the lake, with its dataset."""

    dataset: str
    final: str


class Content(Value, frozen=True):
    """The long part of an entry.

    `quarantined` names the records that went to the quarantine; `inputs` and `records`
    are what the entry removes from the lake and from the quarantine. `complete` are directories
    that become final, oldest first, hours before their days.
    """

    files: tuple[ManifestFile, ...] = ()
    evidence: tuple[RangeEvidence, ...] = ()
    quarantined: tuple[RecordSet, ...] = ()
    inputs: tuple[Input, ...] = ()
    records: tuple[RecordSet, ...] = ()
    complete: tuple[str, ...] = ()

    @property
    def is_large(self) -> bool:
        """True when it is too large to be inside the entry."""
        runs = sum(len(seen.offsets.runs) for seen in self.evidence)
        runs += sum(len(part.offsets.runs) for part in (*self.quarantined, *self.records))
        runs += sum(len(file.ranges) - 1 for file in self.files if file.ranges)
        many = len(self.inputs) + len(self.complete) + runs
        return len(self.files) > INLINE_FILES or many > INLINE_RUNS


class ManifestRef(Value, frozen=True):
    """The key of a large entry's content, the hash of that object, and if it is packed."""

    key: str
    sha256: str
    packed: bool = False


def schema_versions(files: Iterable[ManifestFile]) -> dict[str, int]:
    """The schema version of each dataset; all files of a dataset in an entry have the same."""
    return {file.dataset: file.schema for file in files if file.schema}


def groups_of(content: Content, steps: Steps) -> tuple[Group, ...]:
    """The groups of a content, one per dataset, in name order."""
    by_dataset: dict[str, list[ManifestFile]] = {}
    for file in content.files:
        by_dataset.setdefault(file.dataset, []).append(file)
    return tuple(
        Group(
            dataset=dataset,
            files=len(files),
            rows=sum(file.evidence.count for file in files),
            size_bytes=sum(file.handle.size_bytes for file in files),
            steps=steps,
        )
        for dataset, files in sorted(by_dataset.items())
    )
