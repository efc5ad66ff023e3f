"""The way of decoded rows to the files of their datasets.

Plug-ins name directories, converters change columns, the file format refuses what it cannot hold,
and the splitter waits for enough rows. While the task is learning nothing is written.
"""

from collections import Counter
from dataclasses import replace

import numpy as np

from penstock.datapath.stage.convert_rows import Converters
from penstock.datapath.stage.group_writer import GroupFiles
from penstock.datapath.stage.own_columns import record_columns
from penstock.datapath.stage.placement import Placement
from penstock.datapath.stage.row_arrays import BatchRows, Mask, Rows
from penstock.datapath.stage.samples import Sampling
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.datapath.stage.split_rows import Piece
from penstock.datapath.stage.unwritten_rows import UnwrittenRows
from penstock.model.ranges import OffsetRange
from penstock.model.schema import REST


class RowsToFiles:
    """Brings the rows of one range to its files. Used by one thread of one attempt.

    `rows` counts them by dataset, and `rest_rows` those that have a `_rest`.
    """

    def __init__(
        self,
        plan: ShredPlan,
        covered: OffsetRange,
        group: GroupFiles,
        placement: Placement,
        unwritten: UnwrittenRows,
        samples: Sampling,
    ) -> None:
        self._covered = covered
        self._group = group
        self._format = plan.format
        self._placement = placement
        self._unwritten = unwritten
        self._samples = samples
        self._converters = Converters(plan, covered)
        self.rows: Counter[str] = Counter()
        self.rest_rows: Counter[str] = Counter()

    def put(self, some: BatchRows, piece: Piece, good: Mask) -> Rows:
        """Convert the good rows of a piece, and let what becomes of them wait for their files.

        Returns which of the rows do so; the others were refused or filtered.
        """
        dataset = piece.schema.dataset
        piece, good = self._partitioned(some, piece, good)
        if dataset in self._converters and not self._samples.has_new:
            piece, left = self._converted(some.take(good), piece.only(good))
            rows = np.flatnonzero(good)[left]
            return rows[self._wait(some.take(rows), piece, np.ones(len(rows), dtype=bool))]
        return np.flatnonzero(self._wait(some, piece, good))

    def put_unconverted(self, some: BatchRows, piece: Piece, good: Mask) -> Rows:
        """The same for rows that have the columns of their files already."""
        return np.flatnonzero(self._wait(some, *self._partitioned(some, piece, good)))

    def _partitioned(self, some: BatchRows, piece: Piece, good: Mask) -> tuple[Piece, Mask]:
        """A piece with the directories that plug-ins name, and the mask of those left in it."""
        piece, bad = self._placement.partitioned(some, piece, good)
        if bad:
            good = self._unwritten.refuse(some, bad, piece.schema.dataset) & good
        return piece, good

    def _converted(self, some: BatchRows, piece: Piece) -> tuple[Piece, Mask]:
        """What converters make of rows, and a mask of the rows that are left."""
        converted = self._converters.convert(some, piece)
        left = self._unwritten.refuse(some, converted.bad, piece.schema.dataset)
        if len(converted.filtered):
            self._unwritten.filter(some.take(converted.filtered))
            left[converted.filtered] = False
        return converted.piece, left

    def _wait(self, some: BatchRows, piece: Piece, good: Mask) -> Mask:
        """Let the good rows wait for their files, and tell which; while learning none do."""
        if self._samples.has_new:
            self._group.splitter.forget()
            return good
        piece = piece.only(good)
        if not self._format.traits.has_columns:
            piece = replace(piece, columns=record_columns(some.take(good)))
        unfit = list(self._format.refused(piece.columns, piece.kafka_ms))
        if unfit:
            fits = self._unwritten.refuse(some.take(good), unfit, piece.schema.dataset)
            piece, good = piece.only(fits), good.copy()
            good[np.flatnonzero(good)] = fits
        self.rows[piece.schema.dataset] += len(piece.offsets)
        if self._format.traits.has_columns:
            rest = piece.columns[REST]
            self.rest_rows[piece.schema.dataset] += len(rest) - rest.null_count
        self._group.splitter.add(piece, self._covered.partition, self._group.parts.now)
        return good
