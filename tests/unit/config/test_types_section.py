"""`decode.types` and `types` of a dataset: what is taken, and each mistake."""

from pathlib import Path

import pytest

from tests.helpers.feed_sections import feed_of, mistake_of


def test_types_are_read_by_path(tmp_path: Path) -> None:
    feed = feed_of(tmp_path, 'decode: {types: {id: string, "items[].at.x": json, n: int64}}')
    assert feed.decode.types == (("id", "string"), ("items[].at.x", "json"), ("n", "int64"))


def test_a_dataset_has_types_of_its_own(tmp_path: Path) -> None:
    feed = feed_of(tmp_path, "datasets: {order: {types: {id: timestamp}}}")
    assert feed.datasets[0].types == (("id", "timestamp"),)


def test_msgpack_takes_types_too(tmp_path: Path) -> None:
    feed = feed_of(tmp_path, "decode: {format: msgpack, types: {id: boolean}}")
    assert feed.decode.types == (("id", "boolean"),)


@pytest.mark.parametrize(
    ("keys", "found", "allowed"),
    [
        ("decode: {types: {id: text}}", "found 'text'", "string | int64"),
        ("decode: {types: {a..b: string}}", "found 'a..b'", "user.id"),
        ('decode: {types: {"[].b": string}}', "found '[].b'", "items[].id"),
        ("decode: {types: [a]}", "found a list", "a mapping"),
        ("decode: {types: {a: json, a.b: string}}", "at 'a.b'", "agree"),
        ('decode: {types: {"a[]": timestamp}}', "a time inside a list", "agree"),
        ("decode: {format: avro, types: {a: string}}", "`types` for avro", "`schema`"),
        ("decode: {ids: true, types: {a: string}}", "`types` beside `ids`", "one of the two"),
        (
            "{decode: {types: {a: json}}, datasets: {d: {types: {a.b: string}}}}",
            "together with `decode.types`",
            "agree",
        ),
    ],
)
def test_a_mistake_is_told_in_one_sentence(
    tmp_path: Path, keys: str, found: str, allowed: str
) -> None:
    if keys.startswith("{"):
        keys = keys[1:-1].replace(", datasets", "\n    datasets")
    mistake = mistake_of(tmp_path, keys)
    assert found in mistake.found
    assert allowed in mistake.allowed


def test_types_do_not_stand_beside_a_schema_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"type":"object"}')
    mistake = mistake_of(tmp_path, "datasets: {d: {schema: a.json, types: {a: string}}}")
    assert "`types` beside `schema`" in mistake.found
