"""The names of inventory shards: which of them a file or a set of records belongs to. Pure.

    files/<dataset>/day=<day>              files below a directory of a day; the first one counts
    files/<dataset>/bucket=<n>             files below none, by a hash of the name
    files/_quarantine/<topic>/<partition>  files of the quarantine
    files/_quarantine/bucket=<n>           files of the quarantine whose name tells no partition
    records/<topic id>/<partition>         quarantined records

A name is found from the final name alone, because an entry names its inputs by that. These rules
belong to the format of shards (`INVENTORY_FORMAT`): another rule would look into the wrong shard.
"""

import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeAlias

from penstock.model.day_directories import is_day, is_older
from penstock.model.manifest import QUARANTINE, Content
from penstock.model.names import FileName

Wanted: TypeAlias = Callable[[str], bool]  # a choice of shards, by name

FILES, RECORDS = "files/", "records/"
QUARANTINE_FILES = f"{FILES}{QUARANTINE}/"
BUCKETS = 16
_DAY = "day="
_PENSTOCK = "_penstock/"  # files of the quarantine lie below it, those of datasets do not


def file_shard(final: str) -> str:
    """The shard of a live file."""
    if final.startswith(_PENSTOCK):
        return _quarantine_shard(final)
    directory, _, _ = final.rpartition("/")
    dataset, day = _dataset_and_day(directory)
    return f"{FILES}{dataset}/{day or _bucket(final)}"


def records_shard(topic_id: str, partition: int) -> str:
    """The shard of quarantined records of a partition."""
    return f"{RECORDS}{topic_id}/{partition}"


def of_dataset(dataset: str, day: str = "") -> Wanted:
    """The shards with files of a dataset, or of all when it is empty; perhaps of one day only."""
    end = f"/{_DAY}{day}" if day else ""

    def wanted(name: str) -> bool:
        if not name.startswith(f"{FILES}{dataset}/" if dataset else FILES):
            return False
        return name.endswith(end)

    return wanted


def of_days_before(before: str, dataset: str = "") -> Wanted:
    """The shards with files of older days, of a dataset, or of all when it is empty."""
    datasets = of_dataset(dataset)

    def wanted(name: str) -> bool:
        return datasets(name) and is_older(day_of_shard(name), before)

    return wanted


def of_quarantine(name: str) -> bool:
    """True for the shards of everything that is in the quarantine: files and records."""
    return name.startswith((QUARANTINE_FILES, RECORDS))


def dataset_in(name: str) -> str:
    """The dataset of a shard of files; empty for other shards."""
    return name.removeprefix(FILES).partition("/")[0] if name.startswith(FILES) else ""


def day_of_shard(name: str) -> str:
    """The day of a shard of files; empty for shards without a real day."""
    before, found, day = name.rpartition(f"/{_DAY}")
    return day if found and before.startswith(FILES) and is_day(day) else ""


def touched_shards(content: Content) -> Iterator[str]:
    """The shards that an entry with this content reads or changes; names may come twice."""
    for taken in content.inputs:
        yield file_shard(taken.final)
    for file in content.files:
        yield file_shard(file.handle.final)
    for records in (*content.quarantined, *content.records):
        yield records_shard(records.topic_id, records.partition)


@lru_cache(maxsize=4096)
def _dataset_and_day(directory: str) -> tuple[str, str]:
    parts = directory.split("/")
    dataset = parts[1] if len(parts) > 1 else ""
    return dataset, next((part for part in parts[2:] if part.startswith(_DAY)), "")


def _quarantine_shard(final: str) -> str:
    name = FileName.parse(final.rpartition("/")[2])
    if name is None:
        return f"{QUARANTINE_FILES}{_bucket(final)}"
    return f"{QUARANTINE_FILES}{name.topic}/{name.partition}"


def _bucket(final: str) -> str:
    return f"bucket={zlib.crc32(final.encode('utf-8', 'surrogatepass')) % BUCKETS:02}"
