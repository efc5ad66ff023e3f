"""The glossary is sorted, so that a word is found by eye and is not explained twice."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"
ENTRY = re.compile(r"^\*\*`?_?([^*`]+?)`?\.?\*\*", re.MULTILINE)


def out_of_order(page: str) -> list[str]:
    """Pairs of neighbours that stand in the wrong order, or are the same word."""
    words = ENTRY.findall(page.partition("\n## ")[0])
    assert words
    pairs = pairwise(word.casefold() for word in words)
    return [f"{second} after {first}" for first, second in pairs if second <= first]


def test_the_words_are_sorted() -> None:
    assert out_of_order(PAGE.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["Act.", "Beat.", "Attempt."], "attempt after beat"),
        (["Rules.", "`_rest`."], "rest after rules"),
        (["Silent** (owner)", "Shelf."], "shelf after silent"),
        (["Act.", "Act."], "act after act"),
    ],
)
def test_a_planted_word_is_caught(words: list[str], complaint: str) -> None:
    page = "# Glossary\n\n" + "\n\n".join(f"**{word}** It is **big**." for word in words)
    assert out_of_order(page) == [complaint]


def test_sorted_words_and_other_sections_pass() -> None:
    page = "**Act.** A.\n\n**`_rest`.** B.\n\n**Room** *(later)*. C.\n\n## More\n\n**A.** D.\n"
    assert out_of_order(page) == []
