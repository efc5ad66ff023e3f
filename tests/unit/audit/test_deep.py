"""The deep audit on lakes of the real writer: whole ones pass, doctored ones are told exactly."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.care.retire import retire
from penstock.errors import StoreUnavailable
from penstock.ports.store.local.local_store import LocalStore
from tests.helpers.deep_receipts import meanwhile, receipt, told
from tests.helpers.doctored_lakes import (
    DoctoredLake,
    doubled,
    events,
    offsets_in,
    only,
    rewrite,
    without,
)
from tests.helpers.journals import an_owner, decided_only
from tests.simulator.programs import FEED


@pytest.fixture(params=[False, True], ids=["nothing filtered", "some filtered"])
def lake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> DoctoredLake:
    """Two windows of fifty records: clicks, orders and broken ones."""
    found = DoctoredLake(tmp_path, events(100, filtered=request.param), max_records=50)
    found.plain_tools(monkeypatch)
    return found


def test_a_whole_lake_passes_and_every_row_was_read(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    found = receipt(lake, capsys)
    assert (found["verdict"], found["differences"], found["offsets"]) == ("ok", [], 100)
    deep = found["deep"]
    assert deep["rows"] == found["written"] + found["quarantined"]
    assert (deep["files"], deep["size_bytes"]) == (found["files"], found["size_bytes"])
    assert deep["kafka"] == {
        "agreed": 100,
        "records": 100,
        "unchecked": [],
        "skipped": "",
        "source": "Kafka",
    }
    assert lake.audit("--deep") == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert " ".join(printed.split()).endswith(
        "verdict ok: 100 offsets, every one accounted for; every row read; "
        "Kafka agrees with all of it"
    )


def test_a_row_that_was_removed_is_named(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.data("click")[0]
    rewrite(victim, without(4))
    assert told(lake, capsys) == {lake.key(victim): {"missing": [[4, 5]]}}


def test_two_rows_that_were_removed_are_named(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.data("order")[1]
    rewrite(victim, without(51, 85))
    assert told(lake, capsys) == {lake.key(victim): {"missing": [[51, 52], [85, 86]]}}


def test_a_row_that_is_there_twice_is_named(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.data("click")[1]
    rewrite(victim, doubled(60))
    assert told(lake, capsys) == {lake.key(victim): {"doubled": [[60, 61]]}}


def test_two_lost_and_two_doubled_with_equal_counts_and_sums_do_not_pass(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    """10 + 16 = 12 + 14: neither the count nor the sum of the offsets changes."""
    victim = lake.data("click")[0]
    before = offsets_in(victim)
    rewrite(victim, lambda table: without(10, 16)(doubled(12, 14)(table)))
    after = offsets_in(victim)
    assert (len(after), sum(after)) == (len(before), sum(before))
    assert told(lake, capsys) == {
        lake.key(victim): {"missing": [[10, 11], [16, 17]], "doubled": [[12, 13], [14, 15]]}
    }


def test_a_row_that_was_moved_is_told_for_both_files(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = lake.data("click")
    moved = only(20)(pq_read(first))
    rewrite(first, without(20))
    rewrite(second, lambda table: _with(table, moved))
    assert told(lake, capsys) == {
        lake.key(first): {"missing": [[20, 21]]},
        lake.key(second): {"foreign": [[20, 21]]},
    }


def test_a_row_that_was_moved_to_another_dataset_is_told_for_both_files(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    click, order = lake.data("click")[0], lake.data("order")[0]
    moved = only(20)(pq_read(click))
    rewrite(click, without(20))
    rewrite(order, lambda table: _with(table, moved))
    assert told(lake, capsys) == {
        lake.key(click): {"missing": [[20, 21]]},
        lake.key(order): {"foreign": [[20, 21]]},
    }


def test_a_row_that_was_exchanged_for_one_of_another_dataset_is_told_for_both_files(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    click, order = lake.data("click")[0], lake.data("order")[0]
    clicks, orders = pq_read(click), pq_read(order)
    rewrite(click, lambda table: _with(without(20)(table), only(21)(orders)))
    rewrite(order, lambda table: _with(without(21)(table), only(20)(clicks)))
    assert told(lake, capsys) == {
        lake.key(click): {"missing": [[20, 21]], "foreign": [[21, 22]]},
        lake.key(order): {"missing": [[21, 22]], "foreign": [[20, 21]]},
    }


def pq_read(file: Path) -> Any:
    """All rows of a file."""
    return pq.ParquetFile(file).read()


def _with(table: Any, more: Any) -> Any:
    return pa.concat_tables([table, more.cast(table.schema)])


def test_a_value_that_was_changed_is_told_by_the_files_name(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.data("click")[0]

    def change(table: Any) -> Any:
        values = table["n"].to_pylist()
        values[3] += 1
        at = table.schema.get_field_index("n")
        return table.set_column(at, table.schema.field(at), pa.array(values, pa.int64()))

    rewrite(victim, change)
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert (difference["kind"], difference["file"]) == ("file_contents", lake.key(victim))
    assert difference["found"] == (
        f"contents changed: all {len(offsets_in(victim))} rows are at their positions, "
        "and the checksum is wrong"
    )
    assert difference["offsets"] == []


def test_a_file_that_is_gone_is_told_with_its_rows(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.data("order")[0]
    lost = offsets_in(victim)
    victim.unlink()
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert (difference["kind"], difference["file"]) == ("file_missing", lake.key(victim))
    [part] = difference["offsets"]
    among = {at for start, end in part["runs"] for at in range(start, end)}
    assert (part["fate"], part["count"], part["more_runs"]) == ("missing", len(lost), 0)
    assert set(lost) <= among
    assert part["among"] == (among != set(lost))


def test_two_files_of_a_window_that_are_gone_are_told_together(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victims = [lake.data("order")[0], lake.data("click")[0]]
    lost = {at for victim in victims for at in offsets_in(victim)}
    for victim in victims:
        victim.unlink()
    found = receipt(lake, capsys, code=4)["differences"]
    assert {each["file"] for each in found} - {""} == {lake.key(victim) for victim in victims}
    parts = [part for each in found for part in each["offsets"]]
    told = {at for part in parts for start, end in part["runs"] for at in range(start, end)}
    assert lost <= told
    assert lost == told or all(part["among"] for part in parts)


def test_files_that_were_swapped_are_told_with_each_others_names(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    click, order = lake.data("click")[0], lake.data("order")[0]
    clicks, orders = set(offsets_in(click)), set(offsets_in(order))
    raw = click.read_bytes()
    click.write_bytes(order.read_bytes())
    order.write_bytes(raw)
    found = {each["file"]: each for each in receipt(lake, capsys, code=4)["differences"]}
    assert set(found) == {lake.key(click), lake.key(order)}
    assert f"it has the contents of {lake.key(order)}" in found[lake.key(click)]["found"]
    fates = {part["fate"]: part for part in found[lake.key(click)]["offsets"]}
    for fate, wanted in (("missing", clicks), ("foreign", orders)):
        shown = [at for start, end in fates[fate]["runs"] for at in range(start, end)]
        assert shown == sorted(wanted)[: len(shown)]
        assert fates[fate]["count"] == len(shown) + fates[fate]["more_runs"] == len(wanted)


def test_a_truncated_file_is_told_with_both_sizes(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.data("click")[0]
    with victim.open("r+b") as file:
        file.truncate(100)
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert (difference["kind"], difference["file"]) == ("file_size", lake.key(victim))
    assert "it has 100 bytes" in difference["found"]
    assert "cannot be read" in difference["found"]


def test_a_foreign_file_and_a_renamed_one_are_named(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = lake.data("click")
    shutil.copy(first, first.with_name("copy.parquet"))
    second.rename(second.with_name("renamed.parquet"))
    found = {each["file"]: each for each in receipt(lake, capsys, code=4)["differences"]}
    assert set(found) == {
        f"{FEED}/click/copy.parquet", f"{FEED}/click/renamed.parquet", lake.key(second),
    }  # fmt: skip
    copy, renamed = (found[f"{FEED}/click/{name}.parquet"] for name in ("copy", "renamed"))
    assert f"it has the contents of {lake.key(first)}" in copy["found"]
    assert f"it has the contents of {lake.key(second)}" in renamed["found"]
    assert found[lake.key(second)]["kind"] == "file_missing"


def test_a_row_that_was_removed_from_the_quarantine_is_named(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.quarantined()[0]
    rewrite(victim, without(17))
    assert told(lake, capsys) == {lake.key(victim): {"missing": [[17, 18]]}}


def test_the_receipt_has_the_rows_of_each_dataset_by_partition(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    found = receipt(lake, capsys)
    clicks = sum(len(offsets_in(file)) for file in lake.data("click"))
    orders = sum(len(offsets_in(file)) for file in lake.data("order"))
    [part] = found["partitions"]
    assert part["datasets"] == found["datasets"] == {"click": clicks, "order": orders}


def test_only_one_dataset_is_read_when_it_is_asked_for(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(lake.data("order")[0], doubled(1))
    found = receipt(lake, capsys, "--dataset", "click", code=4)
    # The other files are not read, but their sizes are looked at as ever.
    assert [each["kind"] for each in found["differences"]] == ["file_size"]
    deep = found["deep"]
    assert (deep["files"], deep["dataset"]) == (2, "click")
    assert deep["kafka"]["skipped"] == "the audit was limited to one dataset"


def test_a_dataset_that_is_not_there_is_a_mistake_that_names_the_others(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lake.audit("--deep", "--dataset", "clicks") == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "no dataset 'clicks'" in told.err
    assert "_quarantine, click, order" in told.err


@pytest.mark.parametrize(
    ("word", "files"), [("2027-01-15T07:59:59Z", 6), ("2027-01-15T08:00:01", 0), ("1h", 6)]
)
def test_only_what_was_decided_since_is_read(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str], word: str, files: int
) -> None:
    """The windows were decided at 2027-01-15T08:00:00Z, by the frozen clock of the tests."""
    found = receipt(lake, capsys, "--since", word)
    assert found["deep"]["files"] == files
    assert found["deep"]["kafka"]["agreed"] == (100 if files else 0)
    assert found["deep"]["since"].startswith("20")
    assert (found["offsets"], found["files"]) == (100, 6)


@pytest.mark.parametrize("words", [("--since", "1h"), ("--dataset", "click")])
def test_limits_without_deep_are_a_mistake(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert lake.audit(*words) == 2
    assert "Add --deep." in capsys.readouterr().err


def test_a_time_that_is_none_is_a_mistake(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        lake.audit("--deep", "--since", "yesterday")
    assert "'yesterday' is not a time such as" in capsys.readouterr().err


def test_a_footer_that_names_another_window_is_a_difference(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.data("click")[0]
    table = pq_read(victim)
    pq.write_table(table.replace_schema_metadata({"penstock.feed": "x"}), victim)
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert (
        "its footer says feed x instead of feed; window nothing instead of 1-1"
        in (difference["found"])
    )


def test_a_window_that_is_decided_and_not_visible_is_pending(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.source.payloads += events(10)
    lake.kafka = type(lake.kafka)(lake.source)
    decided_only(an_owner(lake.room([]), lake.source, max_records=50))
    found = receipt(lake, capsys)
    assert [each["dataset"] for each in found["pending"]] == ["_quarantine", "click", "order"]
    assert (found["deep"]["files"], found["deep"]["kafka"]["agreed"]) == (6, 110)


def test_a_store_that_does_not_answer_is_no_difference(
    lake: DoctoredLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_store: LocalStore, key: str) -> None:
        raise StoreUnavailable("read", key, "no permission")

    monkeypatch.setattr(LocalStore, "open_read", refuse)
    assert lake.audit("--deep") == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "STORE_UNAVAILABLE" in told.err


def test_windows_that_are_delivered_meanwhile_are_no_difference(
    lake: DoctoredLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.source.payloads += events(20)
    meanwhile(lake, monkeypatch, lambda: lake.run(10))
    found = receipt(lake, capsys)
    assert (found["offsets"], found["deep"]["kafka"]["agreed"]) == (100, 100)


def test_files_that_are_retired_meanwhile_are_no_difference_and_others_still_are(
    lake: DoctoredLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    click, order = lake.data("click")[0], lake.data("order")[0]
    room = lake.room([])

    def retire_it() -> None:
        if click.exists():
            names = (lake.key(click),)
            retire(room.journal(), room.around, "click", names, "ann", "old")
            assert not click.exists()

    meanwhile(lake, monkeypatch, retire_it)
    assert receipt(lake, capsys)["differences"] == []
    rewrite(order, without(11))
    assert told(lake, capsys) == {lake.key(order): {"missing": [[11, 12]]}}
