"""A task of a replay over what an earlier task has refused."""

from collections.abc import Mapping

from penstock.api.doors import FORMATS
from penstock.api.find import find
from penstock.datapath.stage.quarantine_rows import QuarantinePart
from penstock.datapath.stage.replay_task import shred_quarantined
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.evidence.position_columns import records_evidence
from penstock.model.evidence import Evidence
from penstock.model.manifest import QUARANTINE
from penstock.model.schema import DatasetSchema
from penstock.model.spec import FeedSpec
from penstock.model.window import StageOrder
from tests.helpers.forked_numbers import SCHEMAS
from tests.helpers.shredding import NOON_MS, Shredded


def again(
    before: Shredded, feed: FeedSpec, schemas: Mapping[str, DatasetSchema] = SCHEMAS
) -> tuple[TaskReport, Shredded]:
    """Shred what a task refused once more, as a replay does; what comes out must balance."""
    covered = before.report.evidence.range
    order = StageOrder(feed.name, "1-2", "_penstock/f/staging", (covered,))
    plan = ShredPlan(
        order=order,
        feed=feed,
        schemas=dict(schemas),
        now_s=NOON_MS / 1000,
        format=find(FORMATS, feed.format),
        is_replay=True,
    )
    before.refused()  # makes its files visible
    files = tuple(f.handle.final for f in before.report.files if f.dataset == QUARANTINE)
    part = QuarantinePart(covered, files, before.report.quarantined)
    done = shred_quarantined(plan, before.store, "again", part)
    if not any(sample.is_new for sample in done.samples):
        out = Evidence.total(file.evidence for file in done.files)
        assert out == records_evidence(done.delivered) + done.evidence.extra
    mine = [key for key in before.store.shelf.staged if "1-2" in key]
    assert len(mine) == len(done.files)  # the first look has left nothing
    return done, Shredded(done, before.store)


def delivered(done: TaskReport) -> dict[tuple[str, int], tuple[tuple[int, int], ...]]:
    return {(part.dataset, part.row): part.offsets.runs for part in done.delivered}
