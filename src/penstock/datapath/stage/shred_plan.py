"""What travels to a task, and what it brings back."""

import msgspec

from penstock.api.file_format import FileFormat
from penstock.model.broken_groups import BrokenGroup
from penstock.model.encryption_keys import Keys
from penstock.model.entries import LastRecord
from penstock.model.evidence import RangeEvidence
from penstock.model.file_groups import NO_GROUP
from penstock.model.manifest import ManifestFile, RecordSet
from penstock.model.read_ways import ReadWays
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import DatasetSchema
from penstock.model.spec import FeedSpec
from penstock.model.value import Value
from penstock.model.window import StageOrder
from penstock.model.window_cost import TaskSpent

BUFFER_BYTES = 192 * 1024 * 1024
MAX_NEW = 1_000
LONGEST_KEY_BYTES = 4_000  # about what a local disk takes


class ShredPlan(Value, frozen=True, kw_only=True):
    """Everything a task needs to know. Small, because it travels in the closure.

    now_s            the time of the window and not of the task, so that a retry judges alike
    format           that of data files; the driver finds it by its name, and executors import it
    max_new          how many unknown datasets each task may name; the records of all further ones
                     go to the quarantine
    record_schemas   the schemas that records name, by the key that records use; None where the
                     registry has none of that name
    is_replay        records come from the quarantine; those that fail once more, or are filtered
                     now, stay there and get no second row
    file_schemas     the schemas that files have, of datasets whose records are converted
    keys             the secrets that converters need
    longest_key_bytes  the longest key that the store takes; directories that would need more are
                     cut
    numbered         some records are rows with a number, although the feed does not make such
                     rows any more
    """

    order: StageOrder
    feed: FeedSpec
    schemas: dict[str, DatasetSchema]
    now_s: float
    format: FileFormat
    buffer_bytes: int = BUFFER_BYTES
    max_new: int = MAX_NEW
    record_schemas: dict[str, RegisteredSchema | None] = msgspec.field(default_factory=dict)
    is_replay: bool = False
    file_schemas: dict[str, DatasetSchema] = msgspec.field(default_factory=dict)
    keys: Keys = msgspec.field(default_factory=Keys)
    numbered: bool = False
    longest_key_bytes: int = LONGEST_KEY_BYTES

    @property
    def is_numbered(self) -> bool:
        """True if every row has its number in its record, so that all files are alike in that."""
        return self.numbered or self.feed.has_rows

    @property
    def waiting_bytes(self) -> int:
        """The part of a task's budget for rows that wait to be split; the files have the rest."""
        return self.buffer_bytes // 2


def data_suffix(plan: ShredPlan) -> str:
    """How the names of data files end: compression and format."""
    return plan.format.suffixes[plan.feed.compression]


class Samples(Value, frozen=True):
    """Payloads from which the driver learns a schema: a new dataset's, or new fields'."""

    dataset: str
    is_new: bool
    payloads: tuple[bytes, ...]


class Unlearned(Value, frozen=True):
    """A dataset that has records of a schema which its own does not cover yet.

    Without a name it is that of records whose schema the task did not know, so that it could not
    read them; where the schema or the topic names the dataset, the driver can tell which it is.
    """

    dataset: str
    key: str
    message: tuple[int, ...]


class TaskReport(Value, frozen=True):
    """What one task found in one range. Only reports of successful attempts count.

    With `samples` of a new dataset nothing was written: the driver learns and asks again.
    `reasons` counts the records in the quarantine by reason, and `misfits` by dataset those whose
    schema cannot be merged with the dataset's; `largest_bytes` is a bound
    for the size of any record, at most thrice the largest. `named` are the schemas that records
    name, known or not; `unlearned` the datasets that need a new version because of them. In a
    replay, `tried` says how many quarantined records were read, and `delivered` which of them are
    in the files. `ways` says by dataset how records were read. `broken` has the records in the
    quarantine by group, within bounds, and `refused_names` stand for the new datasets that the task
    had no room for. `spent` says by dataset what the range took of the task. `refused` counts the
    records in the quarantine by dataset and reason. `files` are those of the whole file group with
    this number; one report of the group has them. `attempt` tells the attempts of tasks apart.
    """

    evidence: RangeEvidence
    files: tuple[ManifestFile, ...] = ()
    quarantined: tuple[RecordSet, ...] = ()
    last_record: LastRecord | None = None
    samples: tuple[Samples, ...] = ()
    read_bytes: int = 0
    largest_bytes: int = 0
    reasons: dict[str, int] = msgspec.field(default_factory=dict)
    misfits: dict[str, int] = msgspec.field(default_factory=dict)
    named: tuple[str, ...] = ()
    unlearned: tuple[Unlearned, ...] = ()
    tried: int = 0
    delivered: tuple[RecordSet, ...] = ()
    ways: tuple[ReadWays, ...] = ()
    broken: tuple[BrokenGroup, ...] = ()
    refused_names: tuple[int, ...] = ()
    spent: tuple[TaskSpent, ...] = ()
    refused: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    group: int = NO_GROUP
    attempt: str = ""
