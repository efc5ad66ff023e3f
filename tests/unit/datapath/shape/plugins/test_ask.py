"""Plug-ins are asked for an answer per record, and nothing that they do loses one."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.api.records import Records
from penstock.datapath.shape.plugins.ask import Question, ask, text_or_none
from penstock.testing.sample_records import sample_records

WHO = ["ann", "bob", "secret", None, "eve", "fay", "gus"]


def some() -> Records:
    values = [None if who is None else who.encode() for who in WHO]
    return sample_records(values, keys=values, fields={"who": WHO})


def answers(call: Callable[[Records], Any]) -> tuple[list[str | None], dict[int, str]]:
    found = ask(Question("geo", "FAILED", call, text_or_none), some())
    assert {bad.reason for bad in found.bad} <= {"FAILED"}
    assert all(found.values[bad.index] is None for bad in found.bad)
    return found.values, {bad.index: bad.detail for bad in found.bad}


@pytest.mark.parametrize(
    "shape", [list, tuple, pa.array, iter, lambda some: np.array(some, object)]
)
def test_any_column_of_texts_is_an_answer(shape: Callable[[list[Any]], Any]) -> None:
    assert answers(lambda records: shape(list(records.fields["who"]))) == (WHO, {})


def test_only_the_records_for_which_it_raises_are_bad() -> None:
    asked: list[int] = []

    def upper(records: Records) -> list[str]:
        asked.append(len(records))
        return [who.upper() for who in records.fields["who"]]  # type: ignore[union-attr]

    values, bad = answers(upper)
    assert values == ["ANN", "BOB", "SECRET", None, "EVE", "FAY", "GUS"]
    assert list(bad) == [3]
    assert bad[3].startswith("geo: AttributeError: '***' object has no attribute")
    assert asked[0] == 7


def test_the_words_of_an_error_do_not_repeat_the_record() -> None:
    def leaks(records: Records) -> list[str]:
        if "secret" in records.fields["who"]:
            raise ValueError(f"cannot take secret, nor {records.keys[0].as_py()!r} of `who`")
        return [""] * len(records)

    values, bad = answers(leaks)
    assert values == ["", "", None, "", "", "", ""]
    assert bad == {2: "geo: ValueError: cannot take ***, nor b'***' of `who`"}


def endless(_: Records) -> Iterator[str]:
    return (str(number) for number in count())


def raises_text(_: Records) -> Any:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words either")

    raise Odd


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda _: None, "it returned a NoneType, and no list"),
        (lambda _: "abcdefg", "it returned a str, and no list"),
        (lambda _: {"a": 1}, "it returned a dict, and no list"),
        (lambda _: [], "fewer answers than it got records"),
        (endless, "more answers than it got records"),
        (lambda records: [*records.fields["who"], "x"], "more answers"),
        (lambda records: [7] * len(records), "it returned a int, and no text"),
        (lambda records: [b"x"] * len(records), "it returned a bytes, and no text"),
        (lambda records: ["\ud800"] * len(records), "half of a surrogate pair"),
        (raises_text, "Odd: an error without words"),
        (lambda records: records.fields["nowhere"], "KeyError: '***'"),
    ],
)
def test_an_answer_that_cannot_be_believed_makes_records_bad(
    call: Callable[[Records], Any], why: str
) -> None:
    values, bad = answers(call)
    assert values == [None] * 7
    assert sorted(bad) == list(range(7))
    assert all(why in each for each in bad.values())


def test_what_ends_the_process_passes() -> None:
    def stop(_: Records) -> list[str]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answers(stop)


def test_nothing_is_asked_about_no_records() -> None:
    def never(_: Records) -> list[str]:
        raise AssertionError

    assert ask(Question("x", "FAILED", never, text_or_none), sample_records([])).values == []


def test_records_are_columns_that_are_made_when_they_are_asked_for() -> None:
    records = some().part(1, 4)
    assert len(records) == 3
    assert records.offsets.to_pylist() == [101, 102, 103]
    assert records.keys.to_pylist() == records.values.to_pylist() == [b"bob", b"secret", None]
    assert records.fields == {"who": ("bob", "secret", None)}
    assert records.headers.to_pylist() == [[], [], []]
    assert records.timestamps.type == pa.timestamp("ms", "UTC")
    assert records.event_times[0].as_py() == records.timestamps[0].as_py()
