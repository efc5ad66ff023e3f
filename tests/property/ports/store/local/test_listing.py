"""A listing of directories has the order and the content of a sorted list of keys."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.disk import Child
from penstock.ports.store.local.listing import keys_after
from penstock.ports.store.local.local_store import LocalStore

# Around the slash in the order of characters, so that names and directories interleave.
NAMES = st.text(st.sampled_from("!-.0aé\U0001f600"), min_size=1, max_size=3).filter(
    lambda name: name not in {".", ".."}
)
KEYS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@st.composite
def key_sets(draw: st.DrawFn) -> list[str]:
    """Keys of which none is also the directory of another, as on a disk."""
    chosen: set[str] = set()
    for key in draw(st.lists(KEYS, max_size=25)):
        is_directory = any(other.startswith(f"{key}/") for other in chosen)
        parts = key.split("/")
        is_inside = any("/".join(parts[:depth]) in chosen for depth in range(1, len(parts)))
        if not is_directory and not is_inside:
            chosen.add(key)
    return sorted(chosen)


def naive(keys: list[str], prefix: str, after: str, limit: int | None) -> list[str]:
    """What a listing is by definition."""
    base = f"{prefix}/" if prefix else ""
    return [key for key in keys if key.startswith(base) and key > after][:limit]


class ListOne:
    """Lists one directory of a set of keys, and notes which ones were opened."""

    def __init__(self, keys: list[str], opened: list[str]) -> None:
        self.keys = keys
        self.opened = opened

    def __call__(self, base: str) -> list[Child]:
        self.opened.append(base)
        inside = [key.removeprefix(base) for key in self.keys if key.startswith(base)]
        files = {Child(key, is_directory=False) for key in inside if "/" not in key}
        folders = {Child(key.split("/")[0], is_directory=True) for key in inside if "/" in key}
        return sorted(files | folders, key=lambda child: child.name, reverse=True)


@given(key_sets(), st.data())
def test_a_walk_in_order_is_the_sorted_list(keys: list[str], data: st.DataObject) -> None:
    prefix = data.draw(st.sampled_from(["", *_directories(keys)]))
    after = data.draw(st.one_of(st.just(""), KEYS, st.sampled_from(["", *keys]), NAMES))
    base = f"{prefix}/" if prefix else ""
    found = list(keys_after(base, after, ListOne(keys, [])))
    assert found == naive(keys, prefix, after, None)


@given(key_sets(), KEYS)
def test_a_directory_that_lies_before_is_not_opened(keys: list[str], after: str) -> None:
    opened: list[str] = []
    list(keys_after("", after, ListOne(keys, opened)))
    assert [base for base in opened if base < after and not after.startswith(base)] == []


@given(key_sets(), st.data())
def test_the_local_store_lists_as_defined(keys: list[str], data: st.DataObject) -> None:
    """On real directories; without syncs of our own, which would only be slow here."""
    prefix = data.draw(st.sampled_from(["", "nowhere", *_directories(keys)]))
    after = data.draw(st.one_of(st.just(""), KEYS, st.sampled_from(["", *keys])))
    limit = data.draw(st.one_of(st.none(), st.integers(0, 5)))
    with TemporaryDirectory() as root:
        for key in keys:
            path = Path(root, key)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        found = list_keys(LocalStore(root), prefix, after, limit)
    assert found == naive(keys, prefix, after, limit)


def _directories(keys: list[str]) -> list[str]:
    return sorted({key.rpartition("/")[0] for key in keys if "/" in key})
