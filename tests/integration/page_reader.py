"""A user who pastes the blocks of a page about a store, and what each has asked of that store."""

import subprocess
from pathlib import Path

from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_records import Record
from tests.docs.shell import Block, unshown


class Paster:
    """A user who pastes commands and whole blocks, in one directory."""

    def __init__(self, place: Path, environment: dict[str, str]) -> None:
        self._place = place
        self._environment = environment

    def run(self, command: list[str], **more: str) -> str:
        """What a command prints, with more variables in its environment."""
        ran = subprocess.run(
            command, cwd=self._place, env=self._environment | more, capture_output=True, text=True,
            timeout=900, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, f"{command}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
        return ran.stdout

    def run_block(self, block: Block) -> None:
        """A block prints what is shown below it."""
        printed = self.run(["/bin/sh", "-e", "-c", block.text])
        assert unshown(block.shown, printed) == "", f"{block.text}\n{printed}"


class Reader(Paster):
    """The same, and what each has asked of the store."""

    def __init__(self, place: Path, proxy: FaultProxy, environment: dict[str, str]) -> None:
        super().__init__(place, environment)
        self._proxy = proxy

    def paste(self, command: list[str]) -> tuple[str, list[Record]]:
        """What it prints and asks."""
        before = len(self._proxy.records.all())
        printed = self.run(command)
        return printed, self._proxy.records.all()[before:]

    def paste_block(self, block: Block) -> list[Record]:
        """What it asks; it prints what the page shows."""
        before = len(self._proxy.records.all())
        self.run_block(block)
        return self._proxy.records.all()[before:]
