"""The file of a configuration as YAML: safe, bounded, and every mistake with its line."""

from pathlib import Path

import pytest
import yaml

from penstock.config.errors import ConfigInvalid
from penstock.config.load import load
from penstock.config.yaml_file import DEEPEST, MOST_ALIASES, MOST_BYTES

HEAD = "version: 1\nlake: ./lake\nkafka: {bootstrap.servers: 'localhost:9092'}\n"
GOOD = HEAD + "feeds:\n  events: {topics: [events]}\n"


@pytest.fixture(params=["CSafeLoader", "SafeLoader"], autouse=True)
def _either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML has a parser in C and one in Python; where the first is missing we use the second."""
    monkeypatch.setattr("penstock.config.yaml_file._LOADER", getattr(yaml, request.param))


def complaints(folder: Path, content: str | bytes) -> list[tuple[int, str, str]]:
    """Line, path and words of each mistake; nothing for a good file."""
    file = folder / "penstock.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        load(file, {})
    except ConfigInvalid as error:
        return [(one.line, one.path, one.found) for one in error.mistakes]
    return []


def test_the_smallest_file_loads(tmp_path: Path) -> None:
    assert complaints(tmp_path, GOOD) == []


def test_a_byte_order_mark_windows_lines_and_a_document_mark_are_no_mistakes(
    tmp_path: Path,
) -> None:
    assert complaints(tmp_path, "\ufeff---\n" + GOOD.replace("\n", "\r\n")) == []


def test_a_missing_file_is_told_apart_from_a_bad_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="penstock init") as caught:
        load(tmp_path / "penstock.yaml", {})
    assert caught.value.exit_code == 2
    assert caught.value.code == "CONFIG_INVALID"


@pytest.mark.parametrize("name", [".", "a\0b"])
def test_what_is_no_file_is_a_mistake(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigInvalid, match="cannot be read"):
        load(tmp_path / name, {})


def test_an_empty_file_is_told_all_that_is_required(tmp_path: Path) -> None:
    wanted = [(1, key, "missing, and required") for key in ("version", "lake", "feeds", "kafka")]
    for content in ("", "# nothing\n", "---\n", "~\n", "{}\n"):
        assert complaints(tmp_path, content) == wanted


def test_a_file_of_another_version_is_not_judged_by_our_rules(tmp_path: Path) -> None:
    content = "kind: lake\nversion: 2\n"
    assert complaints(tmp_path, content) == [(2, "version", "found '2'")]


@pytest.mark.parametrize("content", ["- a\n", "just words\n", "5\n"])
def test_a_file_that_is_no_mapping_is_one_mistake(tmp_path: Path, content: str) -> None:
    assert [line for line, _, _ in complaints(tmp_path, content)] == [1]


def test_an_unknown_key_is_a_mistake_with_a_guess_at_every_level(tmp_path: Path) -> None:
    content = (
        "version: 1\nlake: ./lake\nkafak: {}\nkafka: {bootstrap.servers: 'a:1'}\nfeeds:\n"
        "  events:\n    topic: [events]\n    topics: [events]\n    window:\n      evry: 5s\n"
    )
    (tmp_path / "penstock.yaml").write_text(content)
    with pytest.raises(ConfigInvalid) as caught:
        load(tmp_path / "penstock.yaml", {})
    found = [(one.line, one.path, one.meant) for one in caught.value.mistakes]
    assert found == [
        (3, "kafak", "kafka"),
        (7, "feeds.events.topic", "topics"),
        (10, "feeds.events.window.evry", "every"),
    ]
    assert "line 7, feeds.events.topic: unknown key" in str(caught.value)
    assert "did you mean 'topics'?" in str(caught.value)


def test_a_doubled_key_is_a_mistake_at_its_second_place(tmp_path: Path) -> None:
    content = GOOD + "    on_gap: stop\n".replace("    ", "") + "lake: ./other\n"
    found = complaints(tmp_path, content)
    assert (7, "lake", "the key is there twice, first at line 2, lake") in found


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['true']",
        "!!python/name:os.system",
        "!!str text",
        "! text",
        "!!binary aGk=",
        "!<tag:yaml.org,2002:python/object/new:os.system> [x]",
    ],
)
def test_a_tag_is_a_mistake_and_nothing_is_made_of_it(tmp_path: Path, value: str) -> None:
    found = complaints(tmp_path, GOOD + f"spark:\n  spark.app.name: {value}\n")
    assert (7, "spark.spark.app.name", "a YAML tag (!...)") in found


def test_a_few_aliases_are_welcome(tmp_path: Path) -> None:
    content = HEAD + "feeds:\n  a: &one {topics: [a]}\n  b: *one\n"
    assert complaints(tmp_path, content) == []


def test_an_alias_reports_the_place_where_it_is_used(tmp_path: Path) -> None:
    content = HEAD + "feeds:\n  a: {topics: [a], on_gap: &word later}\n  b:\n    on_gap: *word\n"
    assert [(line, path) for line, path, _ in complaints(tmp_path, content)] == [
        (5, "feeds.a.on_gap"),
        (6, "feeds.b"),
        (7, "feeds.b.on_gap"),
    ]


def test_aliases_that_multiply_are_refused_without_being_followed(tmp_path: Path) -> None:
    """A billion laughs: nine levels of nine uses each."""
    lines = ["a0: &a0 [lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    found = complaints(tmp_path, "\n".join(lines))
    assert found[-1][2].startswith("too many values")


def test_too_many_aliases_are_refused(tmp_path: Path) -> None:
    many = ", ".join(["*a"] * (MOST_ALIASES + 1))
    found = complaints(tmp_path, f"version: &a 1\nlake: [{many}]\n")
    assert found[-1] == (2, f"lake[{MOST_ALIASES}]", "too many aliases")


@pytest.mark.parametrize("value", ["*nobody", "&me [*me]"])
def test_an_alias_without_an_anchor_before_it_is_refused(tmp_path: Path, value: str) -> None:
    found = complaints(tmp_path, f"version: 1\nlake: {value}\n")
    assert "without an anchor" in found[-1][2]


def test_nesting_has_a_limit(tmp_path: Path) -> None:
    for opening in ("[", "{a: "):
        found = complaints(tmp_path, "lake: " + opening * 10_000)
        assert found[-1][2] == "nested too deeply", found
    closed = "[" * DEEPEST + "]" * DEEPEST
    assert (4, "lake", "found a list") not in complaints(tmp_path, f"lake: {closed}")


def test_a_large_file_is_refused_by_its_size_before_it_is_parsed(tmp_path: Path) -> None:
    file = tmp_path / "penstock.yaml"
    with file.open("wb") as out:
        out.truncate(50_000_000)
    with pytest.raises(ConfigInvalid, match=f"at most {MOST_BYTES} bytes"):
        load(file, {})


def test_a_file_of_too_many_values_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a lower limit, since the parser in Python takes seconds for the real one."""
    monkeypatch.setattr("penstock.config.yaml_file.MOST_VALUES", 500)
    found = complaints(tmp_path, "lake: [" + "a," * 600 + "]")
    assert found[-1][2].startswith("too many values")


def test_a_thousand_mistakes_are_cut_at_a_hundred(tmp_path: Path) -> None:
    (tmp_path / "penstock.yaml").write_text(GOOD + "".join(f"key{n}: 1\n" for n in range(1_000)))
    with pytest.raises(ConfigInvalid, match="at least 100 mistakes"):
        load(tmp_path / "penstock.yaml", {})


def test_defaults_that_multiply_through_feeds_are_refused(tmp_path: Path) -> None:
    datasets = "".join(f"    d{n}: {{}}\n" for n in range(600))
    feeds = "".join(f"  f{n}: {{topics: [a]}}\n" for n in range(600))
    content = f"{HEAD}defaults:\n  datasets:\n{datasets}feeds:\n{feeds}"
    assert complaints(tmp_path, content) == [(4, "defaults", "too many inherited values")]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("version: 1\nlake: [a\n", 3),
        ("version: 1\nlake: 'open\n", 3),
        ("version: 1\nlake: a: b\n", 2),
        ("version: 1\nlake: @home\n", 2),
    ],
)
def test_broken_yaml_is_one_mistake_with_its_line(tmp_path: Path, content: str, line: int) -> None:
    found = complaints(tmp_path, content)
    assert [(one, path) for one, path, _ in found] == [(line, "")]
    assert found[0][2].startswith("not valid YAML")


def test_what_is_not_utf8_is_a_mistake_with_its_line(tmp_path: Path) -> None:
    found = complaints(tmp_path, b"version: 1\nlake: \xff\n")
    assert found == [(2, "", "the file is not UTF-8")]


def test_characters_that_no_name_can_hold_are_mistakes(tmp_path: Path) -> None:
    found = complaints(tmp_path, GOOD + 'spark: {spark.app.name: "a\\0b"}\n')
    assert found == [(6, "spark.spark.app.name", "a NUL or half of a surrogate pair")]
    assert complaints(tmp_path, "version: 1\nlake: a\x07b\n")[0][2].startswith("not valid YAML")


def test_a_second_document_and_odd_keys_are_mistakes(tmp_path: Path) -> None:
    assert complaints(tmp_path, GOOD + "---\nlake: b\n") == [(6, "", "a second YAML document")]
    found = complaints(tmp_path, GOOD + "? [a]\n: b\n'': c\n<<: {lake: c}\n")
    assert [(line, words) for line, _, words in found] == [
        (6, "a key that is not a word"),
        (8, "a key that is not a word"),
        (9, "a merge key (<<)"),
    ]


def test_all_mistakes_come_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    content = (
        "version: 1\n"
        "lake: ftp://bucket/prefix\n"
        "kafka: {bootstrap.servers: nowhere, group.id: mine}\n"
        "spark: {master: local}\n"
        "registry: {url: localhost, pasword: x}\n"
        "feeds:\n"
        "  Events: {topics: [events]}\n"
        "  events:\n"
        "    start: yesterday\n"
        "dispersals: {a: {from: events/x}}\n"
    )
    assert [(line, path) for line, path, _ in complaints(tmp_path, content)] == [
        (2, "lake"),
        (3, "kafka.bootstrap.servers"),
        (3, "kafka.group.id"),
        (4, "spark.master"),
        (5, "registry.url"),
        (5, "registry.pasword"),
        (7, "feeds.Events"),
        (8, "feeds.events"),
        (9, "feeds.events.start"),
        (10, "dispersals"),
    ]


@pytest.mark.parametrize("indent", ["\t", "  \t", "\t  "])
def test_a_tab_in_the_indentation_is_called_a_tab(tmp_path: Path, indent: str) -> None:
    content = f"{HEAD}feeds:\n  events:\n{indent}topics: [events]\n"
    assert complaints(tmp_path, content)[0][0] in (5, 6)
    assert complaints(tmp_path, content)[0][2] == "a tab before the first word"


def test_a_tab_is_told_in_the_line_that_has_it(tmp_path: Path) -> None:
    assert complaints(tmp_path, "version: 1\n\tlake: a\n") == [
        (2, "", "a tab before the first word")
    ]
