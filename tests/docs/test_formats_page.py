"""What docs/formats.md shows reads a directory across versions."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")


def test_pyarrow_reads_the_columns_of_all_files_as_the_page_says(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"n": 1, "who": {"name": "x"}, "tags": [{"a": 1}]},
        {"n": 2, "who": {"name": "y", "age": 3}, "tags": [{"a": 1, "b": "z"}], "new": 2.5},
    ]
    for number, row in enumerate(rows):
        directory = tmp_path / f"day=2026-11-1{number}"
        directory.mkdir()
        pq.write_table(pa.Table.from_pylist([row]), directory / "0.parquet")
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    found = names["all_columns"](str(tmp_path)).to_table().to_pylist()
    assert [row["new"] for row in found] == [None, 2.5]
    assert found[0]["who"] == {"name": "x", "age": None}
    assert found[1]["tags"] == [{"a": 1, "b": "z"}]
    assert [row["day"] for row in found] == ["2026-11-10", "2026-11-11"]
