"""The reporter `textfile`: metrics in a file, as the node exporter of Prometheus reads them."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from penstock.api.reporter import Metrics
from penstock.serve.exposition import as_text


class TextFile:
    """Replaces one file by each report. A reader sees the old text or the new one, whole."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).absolute()

    def report(self, metrics: Metrics) -> None:
        """Write beside the file, then rename: the collector reads only names with its ending."""
        handle, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(as_text(metrics))
            Path(name).chmod(0o644)
            Path(name).replace(self._path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
