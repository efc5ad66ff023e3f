"""The cost of a window is made of what tasks measured and of its files."""

from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.manifest import Content, ManifestFile
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.staged import StagedHandle
from penstock.model.window import StagedWindow
from penstock.model.window_cost import Spent, TaskSpent, WindowCost
from penstock.protocol.loop.measured_cost import cost_of

RANGE = OffsetRange("t", "id", 0, 0, 5)


def a_file(dataset: str, size_bytes: int, rows: int) -> ManifestFile:
    handle = StagedHandle("s", f"staged/{dataset}", dataset, size_bytes, "sum")
    return ManifestFile(dataset, handle, Evidence(rows, 0), (RANGE,))


READ = RangeEvidence(
    range=RANGE,
    offsets=OffsetSet(),
    read=Evidence(5, 1),
    content_sum=0,
    filtered=Evidence(),
    quarantined=Evidence(),
)


def test_every_dataset_and_every_topic_has_its_part() -> None:
    spent = (TaskSpent("t", "", 1, 10, 0.5), TaskSpent("t", "a", 4, 80, 1.25))
    content = Content(files=(a_file("a", 300, 3), a_file("a", 100, 1)), evidence=(READ,))
    assert cost_of(StagedWindow(spent=spent), content, 2.5) == WindowCost(
        2_500,
        (Spent("", 1, 10, 500_000, 3), Spent("a", 4, 80, 1_250_000, 4, 2, 400, 4)),
        (Spent("", requests=3), Spent("t", 5, 90, 1_750_000, 4, 2, 400, 4)),
    )


def test_what_nobody_has_measured_is_unknown() -> None:
    assert cost_of(StagedWindow(), Content(evidence=(READ,)), 2.5) is None


def test_a_window_without_records_costs_its_entry() -> None:
    empty = Content(evidence=(RangeEvidence.empty(RANGE),))
    own = (Spent("", requests=3),)
    assert cost_of(StagedWindow(), empty, 0.0) == WindowCost(0, own, own)
