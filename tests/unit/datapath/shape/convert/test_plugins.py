"""Plug-ins that convert: both kinds, and those that do not keep their word."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.api.errors import PluginAmbiguous, PluginBroken, PluginUnknown
from penstock.datapath.shape.convert import plugins
from penstock.datapath.shape.convert.flow import ConvertImpossible, Flow
from penstock.model.convert_spec import ConvertSpec
from tests.helpers.conversions import table, through
from tests.helpers.plugin_packages import install


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    install(tmp_path, "shouting")
    monkeypatch.syspath_prepend(tmp_path)
    plugins._made.cache_clear()
    yield
    plugins._made.cache_clear()


def a_plugin(name: str, **options: str | int) -> ConvertSpec:
    return ConvertSpec("plugin", tuple(options), (name,), tuple(options.values()))


def whys(flow: Flow) -> dict[int, str]:
    assert {bad.reason for bad in flow.bad} <= {"CONVERT_FAILED"}
    return {bad.index: bad.detail for bad in flow.bad}


def test_a_plugin_on_records_gives_a_record_none_or_an_error() -> None:
    rows = [{"who": who} for who in ("ann", "12", "nobody", None)]
    flow = through(a_plugin("shout", ending="!"), rows=rows)
    assert table(flow)["who"] == ["ANN!", None]
    assert table(flow)["length"] == [3, None]
    assert [part.tolist() for part in flow.filtered] == [[2]]
    assert whys(flow) == {1: "shout: ValueError: a number is no name"}


def test_rows_are_named_as_in_the_batch_after_other_steps() -> None:
    rows = [{"who": "x"}, {"who": "nobody"}, {"who": "7"}, {"who": "a"}, {"who": "b"}]
    drop = ConvertSpec("drop", ("n",))
    flow = through(a_plugin("shout"), drop, a_plugin("halves"), rows=rows)
    assert flow.rows.tolist() == [0, 4]
    assert [part.tolist() for part in flow.filtered] == [[1], [3]]
    assert sorted(whys(flow)) == [2]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("list", "odd: it returned a list, and no dict"),
        ("undeclared", "odd: it returned a field that it has not declared"),
        ("type", "odd: who is not a string"),
        ("null", "odd: who is null, and was declared not to be"),
    ],
)
def test_a_record_that_is_not_as_declared_is_bad(how: str, why: str) -> None:
    assert whys(through(a_plugin("odd", how=how))) == dict.fromkeys(range(3), why)


def test_words_of_an_exception_do_not_repeat_the_record() -> None:
    found = whys(through(a_plugin("odd", how="leaks")))
    assert found[0] == "odd: ValueError: invalid literal for int() with base 10: '***'"
    assert found[2] == "odd: KeyError: '***'"


def test_a_field_that_is_left_out_is_null() -> None:
    assert table(through(a_plugin("odd", how="nothing"))) == {"who": [None] * 3}


def test_a_plugin_on_batches_says_what_became_of_each() -> None:
    rows = [{"n": n} for n in range(6)]
    flow = through(a_plugin("halves"), rows=rows)
    assert table(flow)["n"] == [0, 2, 4]
    assert [part.tolist() for part in flow.filtered] == [[1]]
    assert whys(flow) == {3: "halves: odd", 5: "halves: odd"}


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("raises", "RuntimeError: no way"),
        ("loses", "did not name each of them once"),
        ("doubles", "did not name each of them once"),
        ("counts", "returned 3 rows and named 2"),
        ("columns", "other columns than it has declared"),
        ("nothing", "no ConvertedBatch"),
    ],
)
def test_a_batch_that_cannot_be_believed_is_bad_as_a_whole(how: str, why: str) -> None:
    found = whys(through(a_plugin("halves", how=how)))
    assert sorted(found) == [0, 1, 2]
    assert all(why in each for each in found.values())


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (a_plugin("odd", how="no schema"), "no pyarrow.Schema"),
        (a_plugin("odd", how="raises early"), "KeyError: 'early'"),
        (a_plugin("odd", how="no column"), "no column can be int32"),
    ],
)
def test_a_plugin_that_cannot_work_is_found_before_there_are_rows(
    step: ConvertSpec, why: str
) -> None:
    with pytest.raises(ConvertImpossible, match=why):
        through(step)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (a_plugin("shout", beginning="x"), "TypeError: no such option"),
        (a_plugin("neither"), "no `convert_record` of RecordConverter and no"),
        (a_plugin("gone"), "AttributeError"),
        (a_plugin("silent"), "no `output_schema` of RecordConverter and no"),
    ],
)
def test_a_plugin_that_cannot_be_made_is_told_as_broken(step: ConvertSpec, why: str) -> None:
    with pytest.raises(PluginBroken, match=why):
        through(step)


def test_a_plugin_that_is_not_installed_is_missed_by_name() -> None:
    with pytest.raises(PluginUnknown, match=r"there are: gone, halves.*did you mean 'shout'"):
        through(a_plugin("shuot"))


def test_a_name_that_two_packages_offer_is_nobodys(tmp_path: Path) -> None:
    install(tmp_path, "whispering")
    with pytest.raises(PluginAmbiguous, match=r"shouting 1\.0 and whispering 1\.0"):
        through(a_plugin("shout"))
