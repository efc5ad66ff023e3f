"""Whether the keys that a feed makes fit into its store, whatever its records are."""

from penstock.datapath.driver.errors import KeysTooLong
from penstock.datapath.shape.route.key_room import least_key_bytes
from penstock.model.spec import FeedSpec


def check_key_room(feed: FeedSpec, longest_key_bytes: int) -> None:
    """Raise `KeysTooLong` if some record could get a key that the store does not take.

    When a feed starts and in `check`: a task that met such a record would fail again and again.
    """
    own = [each.partition for each in feed.datasets if each.partition is not None]
    needed = max(least_key_bytes(feed.name, keys) for keys in (feed.partition, *own))
    if needed > longest_key_bytes:
        raise KeysTooLong(feed.name, needed, longest_key_bytes)
