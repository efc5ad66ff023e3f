"""Errors of the commands that change a feed."""

from penstock.errors import PenstockError


class ResetRefused(PenstockError):
    """A reset would go back over offsets that were delivered; nothing was moved."""

    code = "RESET_REFUSED"
    exit_code = 2

    def __init__(self, feed: str, places: tuple[str, ...]) -> None:
        shown = "; ".join(places[:10]) + (f"; and {len(places) - 10} more" if places[10:] else "")
        super().__init__(
            f"Feed {feed!r} cannot go back over offsets that it has delivered: {shown}.",
            "No watermark was moved, in any partition. To move only other partitions, name them "
            "with `--topic T:0,1`. Delivering records again is not possible in this version.",
        )
        self.places = places
