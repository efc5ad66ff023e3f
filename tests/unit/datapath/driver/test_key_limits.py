"""A feed whose keys could not fit into its store is refused before anything is read."""

import msgspec
import pytest

from penstock.datapath.driver.errors import KeysTooLong
from penstock.datapath.driver.key_limits import check_key_room
from penstock.model.spec import DatasetSpec, PartitionKey
from tests.helpers.shredding import BY_TYPE

MANY = tuple(PartitionKey("field", f"a_field_with_a_long_name_{n}") for n in range(12))


def test_a_feed_with_few_levels_fits_into_every_store() -> None:
    check_key_room(BY_TYPE, 700)


def test_a_feed_or_a_dataset_with_too_many_levels_is_refused() -> None:
    deep = msgspec.structs.replace(BY_TYPE, partition=MANY)
    check_key_room(deep, 4_000)
    with pytest.raises(KeysTooLong, match=r"need keys of 1\d\d\d bytes, .* takes 1024"):
        check_key_room(deep, 1_024)
    declared = DatasetSpec(route="click", partition=MANY)
    with pytest.raises(KeysTooLong):
        check_key_room(msgspec.structs.replace(BY_TYPE, datasets=(declared,)), 1_024)
