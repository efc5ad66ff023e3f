"""Records of many datasets in one pass: the scanner proves which dataset each one belongs to.

The usual way looks at a record's route first and decodes it afterwards, and so reads it twice. Here
the route is guessed, and the scanner of the dataset is told which text the route's field must have.
A record that has another text is read once more, by the scanner of the right dataset. What no
scanner accepts is left to the usual way, whatever the cause, so nothing is judged here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.json.decode_plan import plan_of
from penstock.datapath.codec.json.scan_routes import (
    NO_ROUTE,
    guess_routes,
    numbers_at,
    routes_of,
)
from penstock.datapath.codec.json.scan_tables import scan_plan
from penstock.datapath.codec.json.scanner import Payloads, scan
from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.value_types import ColumnValue
from penstock.model.pinned_types import FeedTypes
from penstock.model.read_ways import ReadCounts
from penstock.model.schema import DatasetSchema

_SHORT = 2**15  # below it, numbers of datasets are sorted in linear time


@dataclass(frozen=True, slots=True)
class DatasetRecords:
    """The records of one dataset: which they were, their columns, and the wanted fields' values.

    The values of a field are a list, or a column. `unknown` are fields that have no column and
    could get one, each with the first record that shows it, by its place in `members`; so are the
    numbers of records in `counts`.
    """

    schema: DatasetSchema
    members: Numbers
    batch: pa.RecordBatch
    fields: dict[str, list[ColumnValue] | pa.Array]
    unknown: dict[str, int]
    counts: ReadCounts

    def take(self, members: Numbers) -> "DatasetRecords":
        """Some of the records, if all values fit: others are not counted record by record."""
        place = {member: at for at, member in enumerate(members.tolist())}
        return replace(
            self,
            members=self.members[members],
            batch=self.batch.take(pa.array(members)),
            fields={},
            unknown={path: place[at] for path, at in self.unknown.items() if at in place},
            counts=replace(self.counts, fast=len(members)),
        )


class OnePass:
    """Reads batches of one route. Executor; one per task, since it remembers where the route was.

    `schemas` are by the text of the field `tag`. Without a tag there is one, for all records.
    """

    def __init__(
        self,
        schemas: Mapping[str, DatasetSchema],
        tag: str,
        paths: tuple[str, ...],
        limits: Limits,
        types: FeedTypes,
    ) -> None:
        self._schemas = [schemas[text] for text in sorted(schemas)]
        self._texts = sorted(schemas)
        self._tag = tag
        self._paths = paths
        self._limits = limits
        self._types = types
        self._routes = routes_of(tag, self._texts)

    def read(self, values: pa.Array, put: Callable[[DatasetRecords], None]) -> Numbers:
        """Hand over the records that could be read, by dataset; the numbers of those that are left.

        A dataset whose records become very many values is handed over in several parts.
        """
        every = np.arange(len(values))
        if not self._schemas or not len(values):
            return every
        payloads = Payloads.of(values)
        numbers = np.zeros(len(values), np.int64)
        if self._tag:
            guess_routes(payloads.data, payloads.starts, payloads.ends, self._routes, numbers)
        left, others, tags = self._read_all(payloads, every, numbers, put)
        if len(others):
            numbers = np.empty(len(others), np.int64)
            numbers_at(payloads.data, tags, self._routes, numbers)
            again, others, _ = self._read_all(payloads, others, numbers, put)
            left = np.concatenate((left, again, others))
        return np.sort(left)

    def _read_all(
        self,
        payloads: Payloads,
        rows: Numbers,
        numbers: Numbers,
        put: Callable[[DatasetRecords], None],
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Read rows by the numbers of their datasets.

        Which are left, which have another text in the route's field, and where that lies.
        """
        left, others, tags = [rows[numbers == NO_ROUTE]], [rows[:0]], [rows[:0]]
        for number, mine in _by_number(rows, numbers, len(self._schemas)):
            schema = self._schemas[number]
            plan = plan_of(schema)
            tag = (self._tag, self._texts[number]) if self._tag else None
            tables = scan_plan(plan, self._limits, self._paths, tag)
            if tables is None:
                left.append(mine)
                continue
            types = self._types.of(schema.dataset)
            for found in scan(payloads.take(mine), plan, tables, types):
                if len(found.members):
                    members = mine[found.members]
                    parts = (found.batch, found.fields, found.unknown, found.counts)
                    put(DatasetRecords(schema, members, *parts))
                is_other = found.tags >= 0
                left.append(mine[found.left[~is_other]])
                others.append(mine[found.left[is_other]])
                tags.append(found.tags[is_other])
        return np.concatenate(left), np.concatenate(others), np.concatenate(tags)


def _by_number(rows: Numbers, numbers: Numbers, count: int) -> Iterator[tuple[int, Numbers]]:
    """Rows by the number of their dataset; those without one are left out."""
    short = numbers.astype(np.int16) if count < _SHORT else numbers
    order = np.argsort(short, kind="stable")
    ordered = numbers[order]
    ends = [*(np.flatnonzero(np.diff(ordered)) + 1).tolist(), len(ordered)]
    for start, end in pairwise([0, *ends] if len(ordered) else []):
        if ordered[start] != NO_ROUTE:
            yield int(ordered[start]), rows[order[start:end]]
