"""The demo with its lake on HDFS; `make certify STORE=hdfs` runs it."""

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.testing.hdfs_server import EmbeddedHdfs

pytestmark = [pytest.mark.certify, pytest.mark.timeout(1800)]


def test_a_demo_on_hdfs_is_exact_and_is_queried_by_the_lines_that_are_printed(
    hdfs: EmbeddedHdfs, tmp_path: Path
) -> None:
    """By the `hdfs://` address of a name node; Spark has a client of its own for it."""
    lake = f"{hdfs.url}/{secrets.token_hex(8)}/demo"
    words = [sys.executable, "-m", "penstock", "demo", "--records", "2000", "--lake", lake]

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env={**os.environ}, capture_output=True, text=True, timeout=900,
            check=False,
        )  # fmt: skip

    ran = run(words)
    text = ran.stdout
    assert ran.returncode == 0, text + ran.stderr
    assert "0 lost, 0 doubled" in text.splitlines()
    assert "verdict    ok" in text
    assert f"the lake   {lake}/events/<type>/day=.../*.parquet" in text
    lines = [line for line in text.splitlines() if " -c 'import" in line or " -c 'from" in line]
    assert len(lines) == 3
    for line in lines:
        printed = run(["/bin/sh", "-c", line])
        assert printed.returncode == 0, printed.stderr
        assert len(re.findall(r"20\d\d-\d\d-\d\d", printed.stdout)) == 7, printed.stdout
