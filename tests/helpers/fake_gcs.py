"""fake-gcs-server, somebody else's emulator of GCS: built once by Go, and started on loopback."""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from penstock.config import places
from penstock.testing.servers import LOOPBACK, GuardedProcess, ServerFailed, free_ports

MODULE = "github.com/fsouza/fake-gcs-server"
VERSION = "v1.56.1"
BUILD_TIMEOUT_S = 3000.0
READY_TIMEOUT_S = 30.0


def built() -> Path:
    """The program; built when it is not there, which takes minutes."""
    folder = places.jar_cache().parent / "go"
    program = folder / "fake-gcs-server"
    if not program.exists():
        go = shutil.which("go")
        assert go is not None, f"Go builds {MODULE}, and there is none"
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [go, "install", f"{MODULE}@{VERSION}"],
            env=os.environ | {"GOBIN": str(folder)}, check=True, timeout=BUILD_TIMEOUT_S,
        )  # fmt: skip
    return program


@contextmanager
def running_fake_gcs(directory: Path, bucket: str) -> Iterator[str]:
    """Its address, with a bucket."""
    [port] = free_ports(1, random.Random())
    address = f"http://{LOOPBACK}:{port}"
    log = directory / "fake-gcs.log"
    words = [
        str(built()), "-scheme", "http", "-host", LOOPBACK, "-port", str(port),
        "-backend", "memory",
        "-public-host", f"{LOOPBACK}:{port}", "-external-url", address,
    ]  # fmt: skip
    process = GuardedProcess(words, directory, log)
    try:
        _make_bucket(address, bucket, process, log)
        yield address
    finally:
        process.kill()


def _make_bucket(address: str, bucket: str, process: GuardedProcess, log: Path) -> None:
    """As soon as it answers."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    while True:
        try:
            made = requests.post(f"{address}/storage/v1/b", json={"name": bucket}, timeout=5)
        except requests.ConnectionError:
            if process.exit_code is not None or time.monotonic() > deadline:
                raise ServerFailed("fake-gcs-server did not answer", log) from None
            time.sleep(0.1)
        else:
            assert made.status_code == 200, made.text
            return
