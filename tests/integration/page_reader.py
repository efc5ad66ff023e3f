"""A user who pastes the blocks of a page about a store, and what each has asked of that store."""

import subprocess
from pathlib import Path

from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_records import Record
from tests.docs.shell import Block, unshown


class Reader:
    """A user who pastes the blocks, and what each has asked of the store."""

    def __init__(self, place: Path, proxy: FaultProxy, environment: dict[str, str]) -> None:
        self._place = place
        self._proxy = proxy
        self._environment = environment

    def paste(self, command: list[str]) -> tuple[str, list[Record]]:
        before = len(self._proxy.records.all())
        ran = subprocess.run(
            command, cwd=self._place, env=self._environment, capture_output=True, text=True,
            timeout=900, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, f"{command}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
        return ran.stdout, self._proxy.records.all()[before:]

    def paste_block(self, block: Block) -> list[Record]:
        printed, asked = self.paste(["/bin/sh", "-e", "-c", block.text])
        assert unshown(block.shown, printed) == "", f"{block.text}\n{printed}"
        return asked
