"""A price with a free part: what is written beyond it costs."""

from penstock.api.price import Used


class StorageTiers:
    """So many bytes are free in each line; every gigabyte beyond has a price."""

    def __init__(self, free_bytes: int = 0, gb: float = 1.0) -> None:
        self._free_bytes = free_bytes
        self._gb = gb

    def amount(self, used: Used) -> float:
        """What is written beyond the free part."""
        return max(used.written_bytes - self._free_bytes, 0) / 1e9 * self._gb
