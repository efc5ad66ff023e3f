"""The demo with its lake on the double of GCS; `pytest -n0 -m certify` runs it."""

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from tests.helpers.object_stores import BUCKET

pytestmark = [pytest.mark.certify, pytest.mark.timeout(1200)]


def test_a_demo_on_gcs_is_exact_and_is_queried_by_the_lines_that_are_printed(
    gcs: EmbeddedGcs, tmp_path: Path
) -> None:
    lake = f"gs://{BUCKET}/{secrets.token_hex(8)}/demo"
    words = [sys.executable, "-m", "penstock", "demo", "--records", "2000", "--lake", lake]
    words += ["--store", f"endpoint={gcs.endpoint}", "--store", "anonymous=true"]

    def run(command: list[str]) -> tuple[int, str]:
        ran = subprocess.run(
            command, cwd=tmp_path, env={**os.environ}, capture_output=True, text=True, timeout=900,
            check=False,
        )  # fmt: skip
        return ran.returncode, ran.stdout + ran.stderr

    code, text = run(words)
    assert code == 0, text
    assert "0 lost, 0 doubled" in text.splitlines()
    assert "verdict    ok" in text
    assert f"the lake   {lake}/events/<type>/day=.../*.parquet" in text
    lines = [line for line in text.splitlines() if " -c 'import" in line]
    assert len(lines) == 2
    for line in lines:
        printed = run(["/bin/sh", "-c", line])[1]
        assert len(re.findall(r"20\d\d-\d\d-\d\d", printed)) == 7, printed
