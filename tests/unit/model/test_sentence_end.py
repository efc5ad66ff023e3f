"""Sentences that quote others end once."""

import pytest

from penstock.api.source import ReadFailed
from penstock.model.sentence_end import with_one_stop


@pytest.mark.parametrize(
    ("given", "ends"),
    [("a..", "a."), ("a.", "a."), ("a", "a"), ("is it there?.", "is it there?"), ("a...", "a...")],
)
def test_a_sentence_ends_once(given: str, ends: str) -> None:
    assert with_one_stop(given) == ends


def test_an_error_that_quotes_a_sentence_ends_once() -> None:
    error = ReadFailed("1-3", "Please see the stack trace below.")
    assert ".." not in str(error)
    assert "stack trace below. Nothing became visible" in str(error)
