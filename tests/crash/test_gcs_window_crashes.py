"""Owners that die at any request of a whole life on GCS.

Goal: whatever request a dead owner sent last, and whenever it arrives, the next owner brings every
record to its one place. Method: the requests of one undisturbed life are counted on the wire. Then
for each that writes: the owner is cut off before it, or right after it was performed, or it arrives
only when the next owner has finished. The store is the double of GCS, the source is simulated.
"""

from collections.abc import Callable

import pytest

from penstock.ports.store.gcs.gcs_store import GcsStore
from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from penstock.testing.proxy.proxy_rules import Rule
from tests.helpers.bucket_lives import Place, arrives_late, cut_after, cut_before, die_at_each_write

pytestmark = pytest.mark.xdist_group("gcs")

READS = ("objects.get", "objects.read", "objects.list")


# Each takes many lives; the certificate has all three, and kills whole processes as well.
BEFORE = pytest.param(cut_before, marks=pytest.mark.certify)
AFTER = pytest.param(cut_after, marks=pytest.mark.certify)


@pytest.mark.parametrize("how", [BEFORE, AFTER, arrives_late])
def test_an_owner_that_dies_at_any_write_loses_and_doubles_nothing(
    gcs: EmbeddedGcs, how: Callable[[int], list[Rule]]
) -> None:
    count = die_at_each_write(Place(gcs, GcsStore, READS), how)
    assert count > 10
    print(f"{count} writes")
