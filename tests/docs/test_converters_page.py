"""What docs/converters.md shows can be loaded and run, and its table has every step."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.config.load import load
from penstock.datapath.shape.convert.cipher import sealed
from penstock.model.convert_spec import Verb

PAGE = (Path(__file__).parents[2] / "docs" / "converters.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def run(block: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(block, names)
    return names


def test_the_file_on_the_page_can_be_loaded(tmp_path: Path) -> None:
    file, steps = blocks("yaml")
    (tmp_path / "penstock.yaml").write_text(file)
    (feed,) = load(tmp_path / "penstock.yaml", {}).feeds
    assert len(feed.convert) == 9
    (tmp_path / "penstock.yaml").write_text(file[: file.index("    convert:")] + steps)
    (feed,) = load(tmp_path / "penstock.yaml", {}).feeds
    assert [each is None for each in feed.convert[0].from_record] == [False, False, False, True]
    (entry,) = blocks("toml")
    assert "penstock.converters" in tomllib.loads(entry)["project"]["entry-points"]


def test_the_table_has_every_step() -> None:
    named = set(re.findall(r"^\| `\{(\w+):", PAGE, flags=re.MULTILINE))
    assert named == set(Verb.__args__)  # type: ignore[attr-defined]


def test_what_is_encrypted_opens_as_the_page_says() -> None:
    opened = run(blocks("python")[0])["opened"]
    (value,) = sealed(bytes(32), [bytes(12)], ["äö".encode()])
    assert opened(bytes(32), value) == "äö"


def test_the_plugins_of_the_page_do_what_it_says() -> None:
    shout = run(blocks("python")[1])["Shout"](ending="!")
    assert shout.convert_record({"name": "ann"}) == {"name": "ANN!", "length": 3}
    assert shout.convert_record({"name": None}) is None
    with pytest.raises(ValueError, match="not a name"):
        shout.convert_record({"name": "7"})
    batch = pa.RecordBatch.from_pydict({"n": [1, 2], "name": ["a", None]})
    capitals = run(blocks("python")[2])["Capitals"]()
    assert capitals.output_schema(batch.schema) == batch.schema
    found = capitals.convert_batch(batch)
    assert found.batch.to_pydict() == {"n": [1, 2], "name": ["A", None]}
    assert list(found.rows) == [0, 1]
