"""`penstock demo` for real: broker, Spark, kill -9, count, pictures, queries, and a clean exit."""

import os
import re
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.testing.object_store_server import EmbeddedObjectStore
from tests.helpers.object_stores import BUCKET
from tests.integration.processes import wait_for

pytestmark = [pytest.mark.xdist_group("processes"), pytest.mark.timeout(600)]

DEMO = [sys.executable, "-m", "penstock", "demo"]


def processes_of(directory: Path) -> list[str]:
    """The command lines of all processes that work in or with a directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            home = str((entry / "cwd").readlink())
        except OSError:
            continue
        if str(directory) in f"{command} {home}":
            found.append(command)
    return found


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """One demo, into a pipe; where it was run, and what it printed."""
    home = tmp_path_factory.mktemp("demo")
    # A setting for the user's own lake must not lead the demo there.
    environment = os.environ | {"PENSTOCK__LAKE": str(home / "precious"), "PYTHONUTF8": "1"}
    ran = subprocess.run(
        [*DEMO, "--records", "20000"],
        cwd=home, env=environment, capture_output=True, text=True, timeout=540, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return home, ran.stdout


def test_nothing_is_lost_or_doubled_by_a_kill_in_the_middle(told: tuple[Path, str]) -> None:
    home, text = told
    assert re.search(r"kill -9 \d+ and its whole group, in the middle of window 1-\d", text)
    assert re.search(
        r"[34] windows done, [\d,]+ rows visible\n +\d+ staged files that no reader", text
    )
    assert re.search(r"epoch 2: claimed the feed", text)
    assert "0 lost, 0 doubled" in text.splitlines()
    assert "20,000 records in Kafka = 19,916 rows + 60 quarantined + 24 filtered" in text
    assert "Kafka      20,000 records read again; 20,000 offsets agree" in text
    assert "verdict    ok" in text
    assert not (home / "precious").exists()


def test_it_reads_well_in_a_pipe_and_leaves_nothing_running(told: tuple[Path, str]) -> None:
    home, text = told
    story = text.split("Query it")[0]
    assert "\x1b" not in text
    assert "\r" not in text
    assert max(map(len, story.splitlines())) <= 80
    assert "██" in story
    wait_for(lambda: processes_of(home) == [], "all processes of the demo to be gone", 60)


def test_the_page_needs_no_network_and_has_every_picture(told: tuple[Path, str]) -> None:
    home, _ = told
    page = (home / "penstock-demo" / "demo.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 5
    assert re.findall(r"(?:src|href)=", page) == []
    for words in ("0 lost, 0 doubled", "kill -9", "Rows by type and day", "NOT_JSON", "verdict"):
        assert words in page


def test_the_printed_queries_work_when_pasted(told: tuple[Path, str]) -> None:
    home, text = told
    lines = [line for line in text.splitlines() if " -c 'import" in line or " -c 'from" in line]
    assert len(lines) == 3
    for line in lines:
        ran = subprocess.run(
            ["/bin/sh", "-c", line], cwd=home, capture_output=True, text=True, timeout=180,
            check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        assert len(re.findall(r"20\d\d-\d\d-\d\d", ran.stdout)) == 7, ran.stdout


def test_the_lake_stays_good_for_the_other_commands(told: tuple[Path, str]) -> None:
    home, _ = told
    demo = home / "penstock-demo"
    for words in (["status"], ["audit"], ["errors", "list", "events"], ["files", "events"]):
        command = [sys.executable, "-m", "penstock", *words]
        ran = subprocess.run(command, cwd=demo, capture_output=True, timeout=120, check=False)
        assert ran.returncode == 0, ran.stderr


def test_a_lake_in_a_bucket_is_exact_too_and_is_queried_by_the_lines_that_are_printed(
    object_store: EmbeddedObjectStore, tmp_path: Path
) -> None:
    """Keys and endpoint come from the environment, as for other programs of AWS."""
    lake = f"s3://{BUCKET}/{secrets.token_hex(8)}/demo"
    environment = os.environ | object_store.environment
    command = [*DEMO, "--records", "2000", "--lake", lake]

    def run(words: list[str]) -> tuple[int, str]:
        ran = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=540,
            check=False,
        )  # fmt: skip
        return ran.returncode, ran.stdout + ran.stderr

    code, text = run(command)
    assert code == 0, text
    assert "0 lost, 0 doubled" in text.splitlines()
    assert "verdict    ok" in text
    assert f"the lake   {lake}/events/<type>/day=.../*.parquet" in text
    assert not (tmp_path / "penstock-demo" / "lake").exists()
    lines = [line for line in text.splitlines() if " -c 'import" in line]
    assert len(lines) == 2
    for line in lines:
        printed = run(["/bin/sh", "-c", line])[1]
        assert len(re.findall(r"20\d\d-\d\d-\d\d", printed)) == 7, printed
    code, text = run(command)
    assert (code, "DEMO_REFUSED" in text, lake in text) == (2, True, True), text


@pytest.mark.parametrize("moment", ["a Kafka broker", "epoch 1: claimed"])
def test_ctrl_c_stops_everything_and_rm_removes_it(tmp_path: Path, moment: str) -> None:
    directory = tmp_path / "demo"
    log = tmp_path / "out.txt"
    with log.open("wb") as out:
        demo = subprocess.Popen(
            [*DEMO, "--records", "5000", "--dir", str(directory), "--rm"],
            stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    wait_for(lambda: moment in log.read_text() or demo.poll() is not None, moment, 200)
    time.sleep(0.5)
    demo.send_signal(signal.SIGINT)
    assert demo.wait(120) == 1, log.read_text()
    assert "interrupted: broker and children are stopped" in log.read_text()
    assert "Traceback" not in log.read_text()
    assert not directory.exists()
    wait_for(lambda: processes_of(directory) == [], "all processes of the demo to be gone", 20)
