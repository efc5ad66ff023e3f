"""The audit of lakes in which records are several rows: whole ones pass, doctored ones do not."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from penstock.model.convert_spec import Condition
from penstock.model.entries import Entry, Window
from penstock.model.evidence import Evidence
from penstock.model.fork import FORK_ROWS, ForkSpec
from penstock.model.spec import DecodeSpec
from tests.helpers.deep_receipts import receipt, told
from tests.helpers.doctored_lakes import SPEC, DoctoredLake, event, events, lose, rewrite

FORKED = msgspec.structs.replace(
    SPEC,
    forks=(
        ForkSpec("click", (Condition("n", multiple_of=5),)),
        ForkSpec("large", (Condition("n", least=30),)),
    ),
    decode=DecodeSpec(spread=True),
)
ARRAYS = [b"[" + b",".join([event("click", n), event("order", n)]) + b"]" for n in range(0, 40, 10)]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DoctoredLake:
    payloads = [*events(100, filtered=True), *ARRAYS, b"[]", b"[1]"]
    found = DoctoredLake(tmp_path, payloads, max_records=60, spec=FORKED)
    found.plain_tools(monkeypatch)
    return found


def test_every_row_of_every_record_is_accounted_for(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    found = receipt(lake, capsys)
    assert (found["verdict"], found["offsets"], found["read"]) == ("ok", 106, 106)
    fates = found["written"] + found["quarantined"] + found["filtered"]
    assert fates == found["read"] + found["extra"]
    assert found["deep"]["rows"] == found["written"] + found["quarantined"]
    assert found["extra"] > 40
    assert lake.audit() == 0
    assert f"additional rows {found['extra']}" in capsys.readouterr().out


def test_one_row_of_a_record_that_is_lost_is_named(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.data("click")[0]
    rewrite(victim, lose(20, FORK_ROWS))
    assert told(lake, capsys) == {lake.key(victim): {"missing": [[20, 21]]}}


def test_an_element_that_is_lost_is_named(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.data("order")[1]
    rewrite(victim, lose(101, 1))
    assert told(lake, capsys) == {lake.key(victim): {"missing": [[101, 102]]}}


def test_a_row_that_took_the_number_of_another_does_not_pass(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.data("large")[0]

    def renumber(table: Any) -> Any:
        numbers = table["_row"].to_pylist()
        numbers[0] = FORK_ROWS
        place = table.schema.names.index("_row")
        return table.set_column(place, "_row", pa.array(numbers, pa.int32()))

    rewrite(victim, renumber)
    assert list(told(lake, capsys)) == [lake.key(victim)]


def test_an_entry_that_hides_its_extra_rows_does_not_pass(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    number = 3  # after bind, claim and start

    def hide(entry: Entry) -> Entry:
        body: Any = entry.body
        assert isinstance(entry.body, Window)
        seen = tuple(
            msgspec.structs.replace(each, extra=Evidence(), rows=())
            for each in body.content.evidence
        )
        content = msgspec.structs.replace(body.content, evidence=seen)
        return msgspec.structs.replace(entry, body=msgspec.structs.replace(body, content=content))

    lake.reseal(number, hide, onward=True)
    for each in range(number, lake.entries()):
        lake.remark(each)
    kinds = {each["kind"] for each in receipt(lake, capsys, code=4)["differences"]}
    assert "counts" in kinds
