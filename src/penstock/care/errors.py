"""Errors of the commands that a person gives beside a feed."""

from penstock.errors import PenstockError


class ResetRefused(PenstockError):
    """A reset would go back over offsets that were delivered; nothing was moved."""

    code = "RESET_REFUSED"
    exit_code = 2

    def __init__(self, feed: str, places: tuple[str, ...]) -> None:
        shown = "; ".join(places[:10]) + (f"; and {len(places) - 10} more" if places[10:] else "")
        super().__init__(
            f"Feed {feed!r} cannot go back over what it has delivered: {shown}.",
            "No offset was moved, also not of other partitions. To deliver records again, use "
            f"`penstock backfill {feed} --generation N` (not in this version yet); to move the "
            "others, name them "
            "with `--topic T:0,1`.",
        )
        self.places = places
