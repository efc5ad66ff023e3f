"""Converting on the way to files: after records were read and routed, before rows wait.

Where a record goes and when it happened is decided by its own fields, so the pieces that come here
know that already. What leaves has the columns that files of the dataset have.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.datapath.codec.shared.projection import project
from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.datapath.shape.convert.converters import convert, converted_fields, fitting
from penstock.datapath.shape.convert.flow import Flow, Given, Origin
from penstock.datapath.stage.row_arrays import BatchRows
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.datapath.stage.split_rows import Piece
from penstock.model.bad_records import BadRecord
from penstock.model.convert_spec import ConvertSpec, steps_for
from penstock.model.ranges import OffsetRange
from penstock.model.schema import REST, DatasetSchema
from penstock.model.schema_merging import SCHEMA_INCOMPATIBLE, Incompatible, merged

Steps = tuple[ConvertSpec, ...]


@dataclass(frozen=True, slots=True)
class Converted:
    """What became of a piece: rows with other columns, which were filtered, and bad ones."""

    piece: Piece
    filtered: Numbers
    bad: list[BadRecord]


class Converters:
    """The steps of a plan for each dataset. Used by one thread of one attempt."""

    def __init__(self, plan: ShredPlan, covered: OffsetRange) -> None:
        self._plan = plan
        self._covered = covered
        self._verdicts: dict[str, str] = {}
        self._null_is_text: dict[str, bool] = {}

    def __contains__(self, dataset: str) -> bool:
        return dataset in self._plan.file_schemas

    def convert(self, some: BatchRows, piece: Piece) -> Converted:
        """Convert the rows of one dataset, a piece of some rows of a batch.

        `bad` numbers them within the piece.
        """
        schema = piece.schema
        steps = steps_for(self._plan.feed.convert, schema.dataset)
        why = self._verdict(steps, schema)
        if why:
            nobody = np.zeros(len(piece.offsets), dtype=bool)
            bad = [BadRecord(row, SCHEMA_INCOMPATIBLE, why) for row in range(len(piece.offsets))]
            return Converted(piece.only(nobody), np.empty(0, np.int64), bad)
        columns = [piece.columns[each.column] for each in schema.fields]
        given = self._given(steps, schema, self._origin(steps, some, piece))
        flow = convert(steps, schema.fields, columns, given, piece.columns[REST])
        gone = np.concatenate(flow.filtered) if flow.filtered else np.empty(0, np.int64)
        return Converted(self._fitted(piece, flow), gone, flow.bad)

    def _origin(self, steps: Steps, some: BatchRows, piece: Piece) -> Origin:
        """Where the rows come from; keys and headers only if a step takes something of them."""
        place = self._covered
        origin = Origin(
            piece.schema.dataset,
            place.topic_id,
            place.partition,
            piece.offsets,
            piece.rows,
            place.topic,
            piece.micros,
            piece.kafka_ms,
            zone=self._plan.feed.time.zone,
        )
        wanted = {each.source for step in steps for each in step.from_record if each is not None}
        if not wanted & {"key", "header"}:
            return origin
        return replace(origin, keys=some.column("key"), headers=some.column("headers"))

    def _fitted(self, piece: Piece, flow: Flow) -> Piece:
        """The rows that are left, with the columns of the files."""
        output = self._plan.file_schemas[piece.schema.dataset]
        names = [each.column for each in flow.fields]
        rest = flow.rest.column(flow.rows)
        # `_rest` is in here too, so that a batch without any other column has its rows.
        batch = pa.RecordBatch.from_arrays([*flow.columns, rest], names=[*names, REST])
        order = np.argsort(flow.rows, kind="stable")
        if bool((order[1:] < order[:-1]).any()):  # a plug-in may have changed it
            batch = batch.take(pa.array(order))
        event = batch.select(names)
        columns = _projected(event, flow, output, batch[REST])
        left = np.zeros(len(piece.offsets), dtype=bool)
        left[flow.rows] = True
        return replace(piece.only(left), schema=output, columns=columns)

    def _given(self, steps: Steps, schema: DatasetSchema, origin: Origin) -> Given:
        """As on the driver, which has joined what the steps make to what files have."""
        known = self._null_is_text.get(schema.dataset)
        if known is None:
            in_files = self._plan.file_schemas[schema.dataset].fields
            found = fitting(steps, schema.fields, self._plan.keys, in_files)
            known = self._null_is_text[schema.dataset] = found.null_is_text
        return Given(self._plan.keys, origin, known)

    def _verdict(self, steps: Steps, schema: DatasetSchema) -> str:
        """Why what the steps make cannot be in one table with the files so far; empty: it can."""
        known = self._verdicts.get(schema.dataset)
        if known is None:
            known = self._verdicts[schema.dataset] = self._judged(steps, schema)
        return known

    def _judged(self, steps: Steps, schema: DatasetSchema) -> str:
        output = self._plan.file_schemas[schema.dataset]
        fields = converted_fields(steps, schema.fields, self._given(steps, schema, Origin()))
        try:
            if merged(output.fields, fields) != output.fields:
                # A plug-in of another version on this machine, for one.
                raise ValueError(f"steps make other columns of {schema.dataset} than on the driver")
        except Incompatible as error:
            return f"after converting: {error}"
        return ""


def _projected(
    event: pa.RecordBatch, flow: Flow, output: DatasetSchema, rest: pa.Array
) -> pa.RecordBatch:
    if flow.fields:
        return project(event, flow.fields, output, rest)
    schema = arrow_schema(output)  # a batch without columns does not know how many rows it has
    nulls = [pa.nulls(len(rest), each.type) for each in schema][:-1]
    return pa.RecordBatch.from_arrays([*nulls, rest], schema=schema)
