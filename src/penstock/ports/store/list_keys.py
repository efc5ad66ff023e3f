"""Keys of a listing, for those who do not need sizes and expect few enough to hold."""

from penstock.api.store import Store


def list_keys(store: Store, prefix: str, after: str = "", limit: int | None = None) -> list[str]:
    """The keys under the directory `prefix` that sort after the key `after`, in order."""
    return [listed.key for listed in store.list_objects(prefix, after, limit)]
