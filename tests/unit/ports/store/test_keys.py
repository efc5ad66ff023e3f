"""Which strings are keys."""

import pytest

from penstock.errors import BadKey
from penstock.ports.store.keys import check_component, check_key
from penstock.testing.contracts.store_names import BAD_KEYS, ODD_NAMES


@pytest.mark.parametrize("key", BAD_KEYS)
def test_a_bad_key_is_refused_with_its_name(key: str) -> None:
    with pytest.raises(BadKey) as caught:
        check_key(key)
    assert caught.value.key == key
    assert repr(key) in str(caught.value)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_odd_name_is_legal_as_a_key_and_inside_one(name: str) -> None:
    assert check_key(name) == (name,)
    assert check_key(f"a/{name}/b") == ("a", name, "b")


@pytest.mark.parametrize("name", ["a/b", "a/", "/a", "", "..", "n" * 256])
def test_a_component_has_no_slash(name: str) -> None:
    with pytest.raises(BadKey):
        check_component(name)


def test_a_component_is_returned_as_it_is() -> None:
    assert check_component("0-17") == "0-17"
