"""Asking a plug-in for one answer per record, and believing nothing that it says.

An error, or an answer of another length, says nothing about single records. So the two halves of
the batch are asked by themselves, down to the records that fail alone: these are bad, and no
others, however the records were put into batches.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from penstock.api.find import STOPS
from penstock.api.records import Records
from penstock.datapath.shape.plugins.tamed import LONGEST_DETAIL, tamed, writable
from penstock.model.bad_records import BadRecord

T = TypeVar("T")


class WrongAnswer(Exception):
    """What is wrong with an answer, in words that do not repeat it."""


@dataclass(slots=True)
class Answers(Generic[T]):
    """One answer per record, in their order; None for the bad ones, which `bad` names by number."""

    values: list[T | None] = field(default_factory=list)
    bad: list[BadRecord] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """What is asked of a plug-in, and how an answer is judged.

    `name` and `reason` are for bad records. `judge` returns the answer as a plain value, or raises
    `WrongAnswer`.
    """

    name: str
    reason: str
    call: Callable[[Records], object]
    judge: Callable[[object], T]


def ask(question: Question[T], records: Records) -> Answers[T]:
    """The answers for some records. Nothing that the plug-in does is raised."""
    answers: Answers[T] = Answers()
    if len(records):
        _ask(question, records, answers)
    return answers


def _ask(question: Question[T], records: Records, answers: Answers[T]) -> None:
    try:
        found = _listed(question.call(records), len(records))
    except STOPS:
        raise
    except WrongAnswer as error:
        _ask_halves(question, records, answers, str(error))
    except BaseException as error:  # noqa: BLE001  a plug-in may raise anything
        _ask_halves(question, records, answers, _words(error, records))
    else:
        for answer in found:
            _take(question, answer, answers)


def _ask_halves(question: Question[T], records: Records, answers: Answers[T], why: str) -> None:
    count = len(records)
    if count == 1:
        _refuse(question, answers, why)
        return
    _ask(question, records.part(0, count // 2), answers)
    _ask(question, records.part(count // 2, count), answers)


def _take(question: Question[T], answer: object, answers: Answers[T]) -> None:
    try:
        answers.values.append(question.judge(answer))
    except WrongAnswer as error:
        _refuse(question, answers, str(error))


def _refuse(question: Question[T], answers: Answers[T], why: str) -> None:
    detail = writable(f"{question.name}: {why}")[:LONGEST_DETAIL]
    answers.bad.append(BadRecord(len(answers.values), question.reason, detail))
    answers.values.append(None)


def _listed(found: object, count: int) -> list[object]:
    """An answer per record, as a list; raises `WrongAnswer` for another number of them."""
    if isinstance(found, pa.Array | pa.ChunkedArray):
        found = found.to_pylist()
    elif isinstance(found, np.ndarray):
        found = found.tolist()
    if isinstance(found, str | bytes | dict | set | frozenset) or not isinstance(found, Iterable):
        raise WrongAnswer(f"it returned a {type(found).__name__}, and no list")
    plain = list(islice(found, count + 1))  # it may be a generator, and one without an end
    if len(plain) != count:
        many = "fewer" if len(plain) < count else "more"
        raise WrongAnswer(f"it returned {many} answers than it got records")
    return plain


def _words(error: BaseException, records: Records) -> str:
    """The words of an error; when one record is at hand, without the texts of that record."""
    if len(records) > 1:
        return ""  # nobody reads it: the halves are asked
    fields = [values[0] for values in records.fields.values()]
    raw = [column[0].as_py() for column in (records.keys, records.values)]
    texts = [each.decode("utf-8", "replace") for each in raw if each is not None]
    return tamed(error, frozenset(records.fields), [*fields, *texts])


def text_or_none(answer: object) -> str | None:
    """An answer that must be a text or None."""
    if answer is None:
        return None
    if not isinstance(answer, str):
        raise WrongAnswer(f"it returned a {type(answer).__name__}, and no text")
    plain = str.__str__(answer)
    try:
        plain.encode()
    except UnicodeEncodeError:
        raise WrongAnswer("it returned half of a surrogate pair, which is not text") from None
    return plain
