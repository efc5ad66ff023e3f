"""Errors of finishing what is decided."""

from collections.abc import Sequence

from penstock.errors import FeedHalted
from penstock.model.row_config import SettingChange

_SHOWN = 10


class ConfigChanged(FeedHalted):
    """Files of a decided window are gone, and the present configuration would make other rows."""

    code = "CONFIG_CHANGED"

    def __init__(self, feed: str, window: str, changed: Sequence[SettingChange]) -> None:
        told = "; ".join(map(str, changed[:_SHOWN])) or (
            "which keys is not known, because the recorded text is gone"
        )
        more = len(changed) - _SHOWN
        super().__init__(
            f"Files of the decided window {window} of feed {feed!r} are gone. They can be derived "
            f"again, but not with the present configuration, which would make other rows: {told}"
            f"{f'; and {more} more' if more > 0 else ''}.",
            "Nothing was read; the window stays unfinished. Run once with the configuration that "
            f"it was made with (`penstock status {feed} --config-of {window}` prints it), then "
            "change it again.",
        )
        self.feed, self.window, self.changed = feed, window, tuple(changed)
