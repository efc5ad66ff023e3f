"""A package with something behind every door: built, installed into an environment, and used.

Goal: whoever installs Penstock and a package of plug-ins can name them in a configuration, without
anything else. Method: wheels of both, made with the locked build backend, in an environment of
their own; all other packages are those of the tests. There is no Kafka, and the lake is a database.
"""

import json
import os
import sqlite3
import subprocess
import sys
import sysconfig
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock import __version__
from penstock.api.doors import EVERY_DOOR
from penstock.testing.list_source import ListedRecord
from penstock.testing.sample_records import sample_records
from tests.plugins.acme.acme_penstock.places import Bucket
from tests.plugins.tapes import Tapes

pytestmark = pytest.mark.xdist_group("processes")

ROOT = Path(__file__).parents[2]
PACKAGES = (ROOT, ROOT / "tests/plugins/acme", ROOT / "tests/plugins/rival")
LIMIT_S = 240  # compiled code is made anew in a new environment, perhaps beside other work
FILE = """version: 1
lake: vault://main
store: {{file: {place}/lake.db}}
spark: {{spark.master: "local[2]"}}
prices: {{currency: EUR, thousand_puts: 1, plugin: storage_tiers, options: {{gb: 1000000}}}}
feeds:
  orders:
    topics: [orders]
    source: {{plugin: tape, options: {{directory: {place}/tapes}}}}
    decode: {{format: pairs}}
    route: {{by: "plugin:tenant", options: {{separator: ":"}}}}
    partition: [day, {{plugin: bucket, options: {{of: user, count: 3}}}}]
    forks: [{{to: [gold], plugin: tiers, options: {{least: 100}}}}]
    convert: [{{plugin: cents, options: {{field: amount}}}}]
    format: arrow
    compression: lz4
    quarantine: {{max_ratio: 1}}
"""
EXTRA_MISSING = (
    "EXTRA_MISSING: The codec 'attic' needs the module 'a_module_that_nobody_has', which is not "
    "installed: run `pip install 'acme-penstock[attic]'` here and on every executor."
)
AMBIGUOUS = (
    "PLUGIN_AMBIGUOUS: Several packages offer a route called 'twin', acme-penstock 3.1 and "
    "rival-penstock 1.0: uninstall all but one of them."
)


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment with Penstock and the packages."""

    place: Path

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run the command that the wheel has installed. Nothing of this checkout is on the path."""
        mine = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYSPARK_PYTHON"}
        around = {key: value for key, value in os.environ.items() if key not in mine}
        command = [str(self.place / "bin" / words[0]), *words[1:]]
        return subprocess.run(
            command,
            env={**around, "NO_COLOR": "1"},
            cwd=self.place,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )

    def rows(self, *words: str) -> list[dict[str, Any]]:
        """What a command prints as JSON, after a success."""
        done = self.run("penstock", *words, "--output", "json")
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """All wheels in one environment. What they depend on is found behind them on the path."""
    wheels, place = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("environment")
    for package in PACKAGES:
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
        subprocess.run(build, cwd=package, check=True, capture_output=True, timeout=LIMIT_S)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install"]
    plain = ["--quiet", "--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check"]
    files = [str(each) for each in sorted(wheels.glob("*.whl"))]
    subprocess.run([*pip, *plain, *files], check=True, timeout=LIMIT_S)
    (site,) = (place / "lib").glob("python*/site-packages")
    # A path file adds a directory and obeys no path files in it: the editable Penstock of the
    # tests is not on the path.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Environment(place)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("acme")


def an_order(number: int) -> ListedRecord:
    """Orders of two tenants; some are free, some are large, and one cannot be read."""
    value = f"user=u{number % 4};amount={0 if number % 5 == 0 else number * 10}"
    key = f"{('north', 'south')[number % 2]}:{number}"
    return ListedRecord(b"nonsense" if number == 13 else value.encode(), key.encode())


def test_the_packages_are_used_as_installed(installed: Environment) -> None:
    """Goal: the rest of this file tests wheels. Method: ask where modules come from."""
    ask = "import penstock, acme_penstock as a; print(penstock.__file__); print(a.__file__)"
    done = installed.run("python", "-c", ask)
    assert done.returncode == 0, done.stderr
    assert all(line.startswith(str(installed.place)) for line in done.stdout.splitlines())


def test_every_door_has_something_of_the_package_behind_it(installed: Environment) -> None:
    rows = installed.rows("plugins")
    assert {row["version"] for row in rows if row["package"] == "penstock"} == {__version__}
    states = {(row["door"], row["name"]): row["state"] for row in rows
              if row["package"] == "acme-penstock"}  # fmt: skip
    assert states.pop(("codec", "attic")) == "missing extra"
    assert states.pop(("route", "twin")) == "ambiguous"
    assert set(states.values()) == {"installed"}
    assert [door for door, _ in states] == [door.word for door in EVERY_DOOR]
    notes = {row["name"]: row["note"] for row in rows if row["note"]}
    assert EXTRA_MISSING.endswith(notes["attic"])
    assert AMBIGUOUS.endswith(notes["twin"])


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("format: pairs", "format: attic", EXTRA_MISSING),
        ("plugin:tenant", "plugin:twin", AMBIGUOUS),
    ],
)
def test_what_cannot_be_used_is_told_in_one_sentence(
    installed: Environment, tmp_path: Path, right: str, wrong: str, sentence: str
) -> None:
    text = FILE.format(place=tmp_path).replace(right, wrong)
    (tmp_path / "penstock.yaml").write_text(text)
    Tapes(tmp_path / "tapes").create_topic("orders")
    done = installed.run("penstock", "check", "-c", str(tmp_path / "penstock.yaml"))
    assert done.returncode == 2
    assert [line for line in (done.stdout + done.stderr).splitlines() if sentence in line]
    assert "Traceback" not in done.stderr


def test_a_feed_is_delivered_and_audited_through_all_of_them(
    installed: Environment, place: Path
) -> None:
    """Goal: each plug-in does its part. Method: derive every row by hand, and compare."""
    tapes = Tapes(place / "tapes")
    tapes.create_topic("orders", partitions=2)
    for number in range(40):
        tapes.append("orders", number % 2, an_order(number))
    (place / "penstock.yaml").write_text(FILE.format(place=place))
    file = ("-c", str(place / "penstock.yaml"))

    checked = {row["what"]: row for row in installed.rows("check", *file)}
    assert checked["lake"]["state"] == "ok"
    assert "next window: 40 records of 2 partitions" in checked["feed orders"]["found"]
    assert "kafka" not in checked
    done = installed.run("penstock", "run", "--once", *file)
    assert done.returncode == 0, done.stderr

    (receipt,) = installed.rows("audit", "--deep", *file)
    assert receipt["differences"] == []
    kafka = receipt["deep"]["kafka"]
    assert (kafka["source"], kafka["agreed"], kafka["unchecked"]) == ("the source tape", 40, [])
    files = [row["file"] for row in installed.rows("files", "orders", *file)]
    assert delivered(place / "lake.db", files) == expected()
    (status,) = installed.rows("status", "--live", *file)
    assert (status["lag_records"], status["counts"]["quarantined"]) == (0, 1)
    (cost,) = installed.rows("cost", *file)
    priced = cost["requests"] / 1000 + cost["written_bytes"] / 1e9 * 1_000_000
    assert cost["currency"] == "EUR"
    assert cost["amount"] == pytest.approx(priced)


def delivered(lake: Path, files: list[str]) -> Counter[tuple[object, ...]]:
    """Every row of every file, with the directory that it lies in. The store is one file."""
    found: Counter[tuple[object, ...]] = Counter()
    with closing(sqlite3.connect(lake)) as store:
        for name in files:
            assert name.endswith(".lz4.arrow")
            (raw,) = store.execute("select data from objects where key = ?", (name,)).fetchone()
            _, dataset, day, bucket, _ = name.split("/")
            for row in pa.ipc.open_file(raw).read_all().to_pylist():
                told = (row["_partition"], row["_offset"], row["user"], row["amount_cents"])
                found[dataset, day, bucket, *told] += 1
    return found


def expected() -> Counter[tuple[object, ...]]:
    """The rows that records should become."""
    found: Counter[tuple[object, ...]] = Counter()
    for number in range(40):
        amount = 0 if number % 5 == 0 else number * 10
        if number == 13 or amount == 0:
            continue
        user = f"u{number % 4}"
        row = ("day=2023-11-14", f"by_bucket={bucket_of(user)}",
               number % 2, number // 2, user, amount * 100)  # fmt: skip
        found[("north", "south")[number % 2], *row] += 1
        if amount >= 100:
            found["gold", *row] += 1
    return found


def bucket_of(user: str) -> str:
    """The directory of a user."""
    records = sample_records([b""] * 2, fields={"user": [user, user]})
    text, _ = Bucket("user", 3).texts(records)
    assert text is not None
    return text
