# ruff: noqa: S101  -- these are tests; they assert
"""The contract of prices, as a test class to inherit from.

class TestMyPrice(PriceContract):
    @pytest.fixture
    def make(self) -> Callable[[], Price]:
        return lambda: MyPrice(free_gb=100)
"""

import math
from collections.abc import Callable

import msgspec

from penstock.api.price import Price, Used

SOME = Used(
    feed="events",
    dataset="click",
    team="web",
    records=1_000_000,
    rows=1_000_000,
    read_bytes=300_000_000,
    written_bytes=40_000_000,
    files=12,
    requests=27,
    task_s=9.5,
)


class PriceContract:
    """An amount for everything that can be used, the same each time."""

    def test_everything_has_an_amount(self, make: Callable[[], Price]) -> None:
        made = make()
        for used in (Used(), SOME, msgspec.structs.replace(SOME, dataset="", topic="events")):
            assert math.isfinite(made.amount(used))

    def test_the_same_use_costs_the_same(self, make: Callable[[], Price]) -> None:
        made = make()
        first = made.amount(SOME)
        made.amount(Used())
        assert made.amount(SOME) == first == make().amount(SOME)
