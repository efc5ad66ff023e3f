"""Small worlds explored whole: every schedule within the bounds."""

import pytest

from tests.simulator.exhaustive import SmallWorld, explore
from tests.simulator.mutations import MUTATIONS
from tests.simulator.small_worlds import quick_worlds
from tests.simulator.story import Violation


@pytest.mark.parametrize("world", quick_worlds(), ids=lambda world: world.title)
def test_no_schedule_breaks_an_invariant(world: SmallWorld) -> None:
    found = explore(world)
    print(f"{world.title}: {found.states:,} states, {len(found.shelves):,} lakes")
    assert found.ends > 0
    assert found.states > 1_000


def test_exploring_finds_what_a_missing_epoch_check_breaks() -> None:
    """Goal: the exploration can fail. Method: switch the rule off and explore a small world."""
    mutation = next(each for each in MUTATIONS if each.rule == "epoch check on append")
    with mutation.switch_off(), pytest.raises(Violation, match="I2"):
        explore(quick_worlds()[0])
