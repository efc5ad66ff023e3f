"""Conditions in the file: what each test means, and what is refused where."""

from pathlib import Path

import pytest

from penstock.config.conditions_section import conditions, constant
from penstock.config.mistakes import Mistake, Mistakes, Place, Refused
from penstock.config.section_grammar import Reading
from penstock.config.tree import Node
from penstock.config.yaml_file import parse
from penstock.model.convert_spec import Condition, Constant


def read(text: str) -> tuple[tuple[Condition, ...], tuple[Mistake, ...]]:
    """The conditions of a table, and the mistakes in it."""
    mistakes = Mistakes("test")
    node = parse(text, mistakes, Place(line=1))
    assert node is not None
    return conditions(node, Reading(mistakes, Path())), mistakes.all()


def node_of(text: str) -> Node:
    node = parse(f"[{text}]", Mistakes("test"), Place())
    return node.items[0]  # type: ignore[union-attr]


def test_a_table_of_paths_says_what_is_asked_of_each() -> None:
    found, mistakes = read(
        "country: {is: [DE, FR]}\namount: {least: 10, most: 20.5}\nname: {fits: 'a.*'}\n"
        "email: {null: false}\nn: {multiple_of: 3}\nuser.plan: free\nlevel: [1, ~, '1', true]\n"
    )
    assert mistakes == ()
    assert found == (
        Condition("country", one_of=("DE", "FR")),
        Condition("amount", least=10, most=20.5),
        Condition("name", fits="a.*"),
        Condition("email", null=False),
        Condition("n", multiple_of=3),
        Condition("user.plan", one_of=("free",)),
        Condition("level", one_of=(1, None, "1", True)),
    )


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("12", 12),
        ("-7", -7),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        ("true", True),
        ("'true'", "true"),
        ("'12'", "12"),
        ("~", None),
        ("2015-01-01", "2015-01-01"),
        ("yes", "yes"),
    ],
)
def test_a_value_is_what_it_looks_like(word: str, value: Constant) -> None:
    found = constant(node_of(word))
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("a: {least: x}", "a.least", "allowed: a number"),
        ("a: {most: 1e999}", "a.most", "allowed: a number"),
        ("a: {multiple_of: 0}", "a.multiple_of", "1 or more"),
        ("a: {multiple_of: 1.5}", "a.multiple_of", "1 or more"),
        ("a: {null: maybe}", "a.null", "true or false"),
        ("a: {fits: '('}", "a.fits", "a regular expression"),
        ("a: {fits: '(?=a).*'}", "a.fits", "allowed: a regular expression of RE2"),
        ("a: {fits: '(?=a).*'}", "a.fits", "invalid perl operator"),
        ("a: {fits: '(a)\\1'}", "a.fits", "RE2"),
        ("a: {fits: 'a)|(b'}", "a.fits", "RE2"),
        ("a: {fits: '((a{99}){99}){99}'}", "a.fits", "RE2"),
        ("a: {fits: }", "a.fits", "found nothing"),
        ("a: {like: x}", "a.like", "unknown key"),
        ("a: {}", "a", "no test"),
        ("a: []", "a", "an empty list"),
        ("a: {is: []}", "a.is", "an empty list"),
        ("a: [{b: c}]", "a[0]", "found a mapping"),
        ("a: {is: [[1]]}", "a.is[0]", "found a list"),
        ("a: '${env:X}'", "a", "a reference to a secret"),
        ("a..b: 1", "a..b", "a path such as"),
        ("a: {least: 3, most: 2}", "a", "`least` is more than `most`"),
    ],
)
def test_a_mistake_names_its_place(text: str, path: str, words: str) -> None:
    _, (mistake,) = read(f"ok: 1\n{text}")
    assert (mistake.path, mistake.line) == (path, 2)
    assert words in str(mistake)


@pytest.mark.parametrize("word", ["a.*", r"\pL+", "(?i)de|fr", "a|b", "äöü"])
def test_what_re2_takes_is_an_expression(word: str) -> None:
    (condition,), mistakes = read(f"a: {{fits: '{word}'}}")
    assert (condition.fits, mistakes) == (word, ())


@pytest.mark.parametrize("text", ["{}", "[a]", "a", "~"])
def test_something_has_to_be_asked(text: str) -> None:
    with pytest.raises(Refused):
        read(text)
