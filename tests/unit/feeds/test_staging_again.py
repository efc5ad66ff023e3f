"""A window that is derived again: what is staged in its name may be all that is left of it."""

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from penstock.datapath.stage.task import RecordTooLarge
from penstock.feeds.kafka_source import KafkaSource
from penstock.model.ranges import OffsetRange
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.model.window import StageOrder
from penstock.ports.registry.errors import (
    RegistryDown,
    RegistryRefused,
    RegistryTrouble,
    RegistryWrong,
)
from penstock.ports.source.errors import ReadFailed
from penstock.ports.store.local.local_store import LocalStore

STAGING = "_penstock/f/staging"


def staged(store: LocalStore) -> StagedHandle:
    """A file of the window."""
    writer = store.open_staged("f/b/file.parquet", StagingSpot(STAGING, "1-1", "attempt"))
    writer.write(b"rows")
    return writer.finish()


@pytest.mark.parametrize("is_decided", [True, False])
def test_only_what_no_entry_names_is_discarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_decided: bool
) -> None:
    """Goal: a read that has to begin anew. Method: a record is too large, then Kafka is gone."""
    store = LocalStore(str(tmp_path / "lake"))
    handle = staged(store)
    source = KafkaSource(MagicMock(), {}, MagicMock(), store, MagicMock(), MagicMock())

    def run(order: StageOrder, _new: int, _spark: Any, most_bytes: int | None) -> Any:
        if most_bytes is not None:
            raise RecordTooLarge
        raise ReadFailed(order.window, "Kafka is gone")

    monkeypatch.setattr(source, "_run", run)
    covered = OffsetRange("t", "id", 0, 0, 9)
    with pytest.raises(ReadFailed, match="gone"):
        source.stage(StageOrder("f", "1-1", STAGING, (covered,), decided=is_decided))
    assert store.look(handle).staged is is_decided


@pytest.mark.parametrize(
    "trouble",
    [RegistryDown("http://r", "503"), RegistryRefused("http://r", 401), RegistryWrong("r", "odd")],
    ids=["down", "refused", "wrong"],
)
def test_partitions_with_schemas_that_nobody_knows_are_held_whatever_the_registry_says(
    monkeypatch: pytest.MonkeyPatch, trouble: RegistryTrouble
) -> None:
    learning, around = MagicMock(), MagicMock()
    learning.learn.side_effect = trouble
    learning.named.known = {"1": None}
    around.tick.return_value = 100.0
    store = MagicMock()
    source = KafkaSource(MagicMock(), {}, MagicMock(), store, learning, around)
    reports = [MagicMock(named=[key]) for key in ("1", "2")]
    for partition, report in enumerate(reports):
        report.evidence.range = OffsetRange("t", "id", partition, 0, 9)
    monkeypatch.setattr(source, "_read", lambda order, _new: (order, reports))
    with pytest.raises(type(trouble)):
        source.stage(StageOrder("f", "1-1", STAGING, (), decided=True))
    assert source.held_now() == {("t", 1): str(trouble)}
