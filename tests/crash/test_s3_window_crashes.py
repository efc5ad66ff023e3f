"""Owners that die at any request of a whole life on S3.

Goal: whatever request a dead owner sent last, and whenever it arrives, the next owner brings every
record to its one place. Method: the requests of one undisturbed life are counted on the wire. Then
for each that writes: the owner is cut off before it, or right after it was performed, or it arrives
only when the next owner has finished. The store is a real object store, the source is simulated.
"""

from collections.abc import Callable

import pytest

from penstock.ports.store.s3.s3_store import S3Store
from penstock.testing.object_store_server import EmbeddedObjectStore
from penstock.testing.proxy.proxy_rules import Rule
from tests.helpers.bucket_lives import Place, arrives_late, cut_after, cut_before, die_at_each_write

pytestmark = pytest.mark.xdist_group("objects")

READS = ("GetObject", "HeadObject", "List")


@pytest.mark.parametrize("how", [cut_before, cut_after, arrives_late])
def test_an_owner_that_dies_at_any_write_loses_and_doubles_nothing(
    object_store: EmbeddedObjectStore, how: Callable[[int], list[Rule]]
) -> None:
    count = die_at_each_write(Place(object_store, S3Store, READS), how)
    assert count > 10
    print(f"{count} writes")
