"""Where the records of a range go: datasets, directories, and further datasets by fork functions.

Everything that names a place is behind a door, and made once per range. What is built in is asked
for all records at once; a plug-in is asked with care, and what it fails for is bad.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.api.doors import ROUTES
from penstock.api.records import RecordContext, Records
from penstock.datapath.shape.plugins.made import made
from penstock.datapath.shape.route.placing import (
    ForkAnswers,
    fork_paths,
    forked,
    needs_a_value,
    partition_paths,
    partition_texts,
    plain_fields,
    route_paths,
    routed_values,
    to_be_asked,
)
from penstock.datapath.shape.route.router import Router, members_by_name
from penstock.datapath.stage.split_rows import Piece, partition_keys
from penstock.model.bad_records import BadRecord
from penstock.model.fork import ForkSpec
from penstock.model.names import encode_component
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Column = Sequence[Any] | pa.Array  # the values of a field: scalars, or what stands for others
Fields = Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class Places:
    """The rows of each dataset, those of none that are to be filtered, and the bad ones."""

    datasets: Iterator[tuple[str, Rows]]
    filtered: Rows
    bad: list[BadRecord]

    def groups(self) -> Iterator[tuple[str, Rows]]:
        """The rows of each dataset; those that are filtered come last, under no name."""
        return chain(self.datasets, [("", self.filtered)] if len(self.filtered) else [])


class Placement:
    """Where records go, for one range of one partition. Used by one thread of one attempt.

    `paths` are the fields that decide it, and when a record happened, each once; `kept_paths` those
    of them that a piece keeps until its rows are split.
    """

    def __init__(self, feed: FeedSpec, covered: OffsetRange, router: Router) -> None:
        self._feed = feed
        self._covered = covered
        self._router = router
        self._route = made(ROUTES, feed.route.call)
        self.route_paths = route_paths(feed.route)
        self.kept_paths = partition_paths(feed)
        self.fork_paths = fork_paths(feed.forks)
        time = (feed.time.field,) if feed.time.field else ()
        every = (*self.route_paths, *time, *self.fork_paths, *self.kept_paths)
        self.paths = tuple(dict.fromkeys(every))
        self._declared = {encode_component(each.route): each for each in feed.datasets}
        self._has_functions = any(fork.call is not None for fork in feed.forks)

    @property
    def needs_a_value(self) -> bool:
        """True if a record without a value has no dataset."""
        return needs_a_value(self._feed.route)

    def routed(
        self, batch: pa.RecordBatch, rows: Rows, fields: Fields, good: Mask, schema_name: str = ""
    ) -> Places:
        """The dataset of each good row; `bad` holds good rows only."""
        context = RecordContext(schema_name, self._feed.time.zone)
        failed: dict[int, BadRecord] = {}
        if self._feed.route.kind == "plugin":
            values, failed = self._asked_route(batch, rows, fields, good, context)
        else:
            values = [*self._route.datasets(self._records(batch, rows, fields, context))]
        found = self._router.assign(values)
        bad = [failed.get(each.index, each) for each in found.bad if good[each.index]]
        dropped = np.asarray(found.filtered, dtype=np.int64)
        members = members_by_name(np.where(good, found.codes, -1), found.datasets)
        return Places(members, dropped[good[dropped]], bad)

    def forked(
        self,
        forks: Sequence[ForkSpec],
        dataset: str,
        batch: pa.RecordBatch,
        rows: Rows,
        values: Callable[[str], Column],
    ) -> ForkAnswers | None:
        """What the fork functions say about records of a dataset; None where there is none.

        `values` gives the values of a field of these rows.
        """
        if not self._has_functions or not forks:
            return None

        def records(paths: tuple[str, ...]) -> Records:
            fields = plain_fields({path: values(path) for path in paths}, paths)
            return self._records(batch, rows, fields, RecordContext(zone=self._feed.time.zone))

        return forked(forks, dataset, records)

    def partitioned(
        self, batch: pa.RecordBatch, rows: Rows, piece: Piece, good: Mask
    ) -> tuple[Piece, list[BadRecord]]:
        """A piece with the directories that plug-ins name for its good rows, and the bad ones."""
        keys = partition_keys(self._feed, self._declared.get(piece.schema.dataset))
        asked = to_be_asked(keys)
        if not asked:
            return piece, []
        some = np.flatnonzero(good)
        bad: dict[int, BadRecord] = {}
        columns: dict[str, list[Any]] = {}
        context = RecordContext(zone=self._feed.time.zone, event_times=piece.micros[some])
        fields = _chosen_fields(piece.fields, self.kept_paths, some)
        for key in asked:
            records = self._records(batch, rows[some], fields, context)
            found = partition_texts(key, records)
            column: list[Any] = [None] * len(rows)
            for at, text in zip(some.tolist(), found.values, strict=True):
                column[at] = text
            columns[key.column] = column
            bad = _by_row(found.bad, some) | bad
        fields_too = {**piece.fields, **columns}
        return replace(piece, fields=fields_too), [bad[index] for index in sorted(bad)]

    def _asked_route(
        self, batch: pa.RecordBatch, rows: Rows, fields: Fields, good: Mask, context: RecordContext
    ) -> tuple[list[Any], dict[int, BadRecord]]:
        """What a plug-in names; it is not asked about records that cannot be read."""
        some = np.flatnonzero(good)
        chosen = _chosen_fields(fields, self.route_paths, some)
        records = self._records(batch, rows[some], chosen, context)
        found = routed_values(self._feed.route, records)
        values: list[Any] = [None] * len(rows)
        for at, value in zip(some.tolist(), found.values, strict=True):
            values[at] = value
        return values, _by_row(found.bad, some)

    def _records(
        self, batch: pa.RecordBatch, rows: Rows, fields: Any, context: RecordContext
    ) -> Records:
        place = self._covered
        return Records(place.topic, place.partition, batch, rows, fields, context)


def chosen(values: Column, members: Rows) -> Column:
    """Some of the values of a field."""
    if isinstance(values, pa.Array):
        return values.take(pa.array(members))
    return [values[member] for member in members]


def _chosen_fields(fields: Fields, paths: Sequence[str], members: Rows) -> dict[str, Any]:
    """The values of some fields of some rows, as plug-ins see them."""
    return dict(plain_fields({path: chosen(fields[path], members) for path in paths}, paths))


def _by_row(bad: Sequence[BadRecord], rows: Rows) -> dict[int, BadRecord]:
    """Bad records by their rows, where they are numbered within some of the rows."""
    found = [BadRecord(int(rows[each.index]), each.reason, each.detail) for each in bad]
    return {each.index: each for each in found}
