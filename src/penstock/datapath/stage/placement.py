"""Where the records of a range go: datasets, directories, and further datasets by fork functions.

Everything that names a place is behind a door, and made once per range. What is built in is asked
for all records at once; a plug-in is asked with care, and what it fails for is bad.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import assert_never, cast

import numpy as np

from penstock.api.doors import ROUTES
from penstock.api.records import RecordContext, Records, Scalar
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
from penstock.datapath.stage.batch_decoder import RecordGroup, refused, renumbered
from penstock.datapath.stage.field_columns import values_of
from penstock.datapath.stage.row_arrays import BatchRows, Column, Mask, Rows, chosen
from penstock.datapath.stage.split_rows import Piece, partition_keys
from penstock.model.bad_records import BadRecord
from penstock.model.fork import ForkSpec
from penstock.model.names import encode_component
from penstock.model.ranges import OffsetRange
from penstock.model.spec import DatasetSpec, FeedSpec


def declared_datasets(feed: FeedSpec) -> dict[str, DatasetSpec]:
    """The datasets that the configuration names, by their directories."""
    return {encode_component(each.route): each for each in feed.datasets}


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
    of them that a piece keeps until its rows are split. `declared` are the datasets that the
    configuration names, by their directories.
    """

    def __init__(self, feed: FeedSpec, covered: OffsetRange, router: Router) -> None:
        self._feed = feed
        self._covered = covered
        self._router = router
        self._route = made(ROUTES, feed.route.call)
        self._route_paths = route_paths(feed.route)
        self.kept_paths = partition_paths(feed)
        time = (feed.time.field,) if feed.time.field else ()
        every = (*self._route_paths, *time, *fork_paths(feed.forks), *self.kept_paths)
        self.paths = tuple(dict.fromkeys(every))
        self.declared = declared_datasets(feed)
        self._has_functions = any(fork.call is not None for fork in feed.forks)

    @property
    def needs_a_value(self) -> bool:
        """True if a record without a value has no dataset."""
        return needs_a_value(self._feed.route)

    def datasets_by_text(self) -> tuple[dict[str, str], str]:
        """The datasets that are known by the text of one field, and that field.

        Without a field there is one dataset at most, which all records of the range go to.
        """
        route, texts = self._feed.route, self._router.known_texts()
        if route.kind == "field" and "." not in route.name:
            return texts, route.name
        topic = self._covered.topic
        if route.kind == "topic" and topic in texts:
            return {topic: texts[topic]}, ""
        return {}, ""

    def routed(self, group: RecordGroup) -> Places:
        """The dataset of each record."""
        context = RecordContext(group.schema_name, self._feed.time.zone)
        fields = {path: values_of(group.content.column(path)) for path in self._route_paths}
        failed: dict[int, BadRecord] = {}
        values: Sequence[object]
        match self._feed.route.kind:
            case "schema":
                return self._routed_by_schema(group)
            case "plugin":
                plain = plain_fields(fields, self._route_paths)
                records = self._records(group.origin, plain, context)
                answers = routed_values(self._feed.route, records)
                values, failed = answers.values, {each.index: each for each in answers.bad}
            case "topic" | "header" | "field":
                # What stands for an object or a list is not a scalar; only the router knows it.
                raw = cast("Mapping[str, Sequence[Scalar]]", fields)
                values = [*self._route.datasets(self._records(group.origin, raw, context))]
            case _ as never:
                assert_never(never)
        found = self._router.assign(values)
        bad = [failed.get(each.index, each) for each in found.bad]
        return Places(members_by_name(found.codes, found.datasets), found.filtered, bad)

    def _routed_by_schema(self, group: RecordGroup) -> Places:
        """The same where all records of a group are of one schema, and so of one dataset."""
        every, nobody = np.arange(len(group)), np.empty(0, np.int64)
        known = self._router.accepted(group.schema_name)
        if known is not None:
            return Places(iter([(known, every)]), nobody, [])
        found = self._router.assign([group.schema_name])
        bad = [each for one in found.bad for each in refused(len(every), one.reason, one.detail)]
        datasets = iter([(dataset, every) for dataset in found.datasets])
        return Places(datasets, every if len(found.filtered) else nobody, bad)

    def forked(
        self, forks: Sequence[ForkSpec], dataset: str, group: RecordGroup
    ) -> ForkAnswers | None:
        """What the fork functions say about records of a dataset; None where there is none."""
        if not self._has_functions or not forks:
            return None

        def records(paths: tuple[str, ...]) -> Records:
            fields = {path: values_of(group.content.column(path)) for path in paths}
            context = RecordContext(zone=self._feed.time.zone)
            return self._records(group.origin, plain_fields(fields, paths), context)

        return forked(forks, dataset, records)

    def partitioned(
        self, origin: BatchRows, piece: Piece, good: Mask
    ) -> tuple[Piece, list[BadRecord]]:
        """A piece with the directories that plug-ins name for its good rows, and the bad ones."""
        keys = partition_keys(self._feed, self.declared.get(piece.schema.dataset))
        asked = to_be_asked(keys)
        if not asked:
            return piece, []
        some = np.flatnonzero(good)
        bad: dict[int, BadRecord] = {}
        columns: dict[str, Column] = {}
        context = RecordContext(zone=self._feed.time.zone, event_times=piece.micros[some])
        kept = {path: chosen(piece.fields[path], some) for path in self.kept_paths}
        fields = plain_fields(kept, self.kept_paths)
        records = self._records(origin.take(some), fields, context)
        for key in asked:
            found = partition_texts(key, records)
            column: list[str | None] = [None] * len(good)
            for at, text in zip(some.tolist(), found.values, strict=True):
                column[at] = text
            columns[key.column] = column
            bad = {each.index: each for each in renumbered(found.bad, some)} | bad
        fields_too = {**piece.fields, **columns}
        return replace(piece, fields=fields_too), [bad[index] for index in sorted(bad)]

    def _records(
        self, some: BatchRows, fields: Mapping[str, Sequence[Scalar]], context: RecordContext
    ) -> Records:
        place = self._covered
        return Records(place.topic, place.partition, some.batch, some.rows, fields, context)
