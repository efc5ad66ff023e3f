"""Commands that only read or explain do not wait for libraries that only a run needs.

Goal: `--help` answers at once, and `status` can be asked every few seconds. Method: the commands
run in a fresh process, which then says what it has imported.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.main import parser
from tests.helpers.journals import delivered
from tests.helpers.lakes_on_disk import DiskLake
from tests.helpers.parser_words import leaves
from tests.simulator.programs import FEED

HEAVY = {
    *("pyspark", "py4j", "pyarrow", "numpy", "numba", "pandas"),
    *("starlette", "uvicorn", "prometheus_client", "anyio"),
}
RUN = """
import json, sys
from penstock.cli import start
from penstock.cli.main import parser
codes = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["penstock", *words]
    try:
        codes.append(start.main())
    except SystemExit as ended:
        codes.append(ended.code)
print(json.dumps([codes, sorted({name.split(".")[0] for name in sys.modules})]), file=sys.stderr)
"""


def imported(*commands: list[str]) -> set[str]:
    """The packages that are imported once these commands have run, all of them with success."""
    ran = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(commands)],
        capture_output=True,
        text=True,
        check=True,
    )
    codes, packages = json.loads(ran.stderr.splitlines()[-1])
    assert codes == [0] * len(commands), ran.stderr
    return set(packages)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> DiskLake:
    found = DiskLake(tmp_path_factory.mktemp("light"))
    delivered(found.room(["a", "b", "a"]))
    return found


def every_command() -> list[list[str]]:
    """The words of every command and of every group of commands."""
    from_parser = {name for name, _ in leaves(parser(), "penstock")}
    whole = [name.split()[1:] for name in sorted(from_parser)]
    return [[], *whole, *[words[:1] for words in whole if len(words) > 1]]


def test_help_imports_nothing_heavy() -> None:
    asked = [[*words, "--help"] for words in every_command()]
    assert len(asked) > 20
    assert imported(*asked) & HEAVY == set()


@pytest.mark.parametrize("output", ["text", "json"])
def test_status_imports_nothing_heavy(lake: DiskLake, output: str) -> None:
    assert imported(lake.words("status", FEED, "--output", output)) & HEAVY == set()


def test_where_imports_nothing_heavy_unless_it_has_to_read_a_file(lake: DiskLake) -> None:
    (file,) = [each for each in lake.files(f"{FEED}/b") if each.name.endswith(".rows")]
    key = file.relative_to(lake.root).as_posix()
    assert imported(lake.words("where", FEED, key)) & HEAVY == set()


def test_an_example_is_written_without_anything_heavy(tmp_path: Path) -> None:
    assert imported(["init", str(tmp_path / "new.yaml")]) & HEAVY == set()


@pytest.mark.parametrize(
    "words", [("files", FEED), ("errors", "list", FEED), ("audit", FEED), ("clean", FEED)]
)
def test_what_only_reads_the_lake_does_without_spark(lake: DiskLake, words: tuple[str]) -> None:
    assert imported(lake.words(*words)) & {"pyspark", "py4j", "numba", "pandas"} == set()


@pytest.mark.parametrize("name", ["offsets", "schema", "check"])
def test_what_asks_kafka_needs_its_client_and_not_spark(name: str) -> None:
    """Their modules are looked at, and not a run: for that there would have to be a Kafka.

    `check` decodes samples as tasks do, with the compiled code that they use.
    """
    heavy = {"pyspark", "pandas"} | ({"numba"} if name != "check" else set())
    code = f"import sys, penstock.cli.commands.{name}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) & heavy == set()


def test_what_a_command_imports_is_noticed(lake: DiskLake) -> None:
    assert imported(lake.words("audit", FEED)) & HEAVY != set()
