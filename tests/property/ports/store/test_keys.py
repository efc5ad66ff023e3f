"""Any string is a key, or it is refused."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadKey
from penstock.ports.store.keys import check_key


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_a_key_either_splits_into_safe_components_or_is_refused(key: str) -> None:
    """Surrogates included."""
    try:
        components = check_key(key)
    except BadKey:
        return
    assert "/".join(components) == key
    for component in components:
        assert component not in {"", ".", ".."}
        assert 0 < len(component.encode()) <= 255
        assert not set(component) & {"\0", "/"}
