"""The simulator from the command line: `python -m tests.simulator random|exhaustive|mutations`."""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from random import SystemRandom

from tests.simulator.exhaustive import Found, explore
from tests.simulator.inventory_schedules import INVENTORY_MUTATIONS, catch_inventory
from tests.simulator.inventory_worlds import first_inventory_violation
from tests.simulator.lease_mutations import LEASE_MUTATIONS, catch_lease
from tests.simulator.lease_runs import first_lease_violation
from tests.simulator.mutations import MUTATIONS, Catch, catch, fails_with_every_rule, table
from tests.simulator.place_schedules import PLACE_MUTATIONS, catch_place
from tests.simulator.place_worlds import first_place_violation
from tests.simulator.random_runs import simulate
from tests.simulator.seal_schedules import SEAL_MUTATIONS, catch_seal
from tests.simulator.seal_worlds import first_seal_violation
from tests.simulator.small_worlds import all_worlds, quick_worlds
from tests.simulator.tally_mutations import TALLY_MUTATIONS, catch_tally
from tests.simulator.tally_world import first_violation
from tests.simulator.two_stores import first_two_store_violation

WORLDS = {"quick": quick_worlds, "all": all_worlds}


def main(arguments: list[str]) -> int:
    """Run one of the three ways; 0 when no invariant was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulator", description=__doc__)
    ways = parser.add_subparsers(dest="way", required=True)
    random = ways.add_parser("random", help="random schedules from seeds")
    random.add_argument("--schedules", type=int, default=2_000)
    random.add_argument("--seed", type=int, default=None)
    exhaustive = ways.add_parser("exhaustive", help="every schedule of the small worlds")
    exhaustive.add_argument("--quick", action="store_true", help="only the quick ones")
    ways.add_parser("mutations", help="switch off each rule; each must be noticed")
    chosen = parser.parse_args(arguments)
    if chosen.way == "random":
        seed = SystemRandom().randrange(10**9) if chosen.seed is None else chosen.seed
        schedules = chosen.schedules
        return (
            simulate(schedules, seed)
            or simulate_tally(schedules // 10, seed)
            or simulate_lease(schedules // 50, seed)
            or simulate_inventory(schedules // 10, seed)
            or simulate_seals(schedules // 20, seed)
            or simulate_places(schedules // 10, seed)
        )
    if chosen.way == "exhaustive":
        return explore_all("quick" if chosen.quick else "all")
    return show_mutations()


def simulate_tally(schedules: int, seed: int) -> int:
    """Run the second book as well; 1 when one of its schedules failed."""
    found = first_violation(schedules, seed)
    print(found or f"{schedules} schedules of the tally: nothing broken")
    return 1 if found else 0


def simulate_lease(schedules: int, seed: int) -> int:
    """Let instances contend for the lease as well; 1 when one of its schedules failed."""
    found = first_lease_violation(schedules, seed)
    print(found or f"{schedules} schedules of the lease: nothing broken")
    return 1 if found else 0


def simulate_inventory(schedules: int, seed: int) -> int:
    """Run worlds with inventory checkpoints as well; 1 when a schedule failed."""
    found = first_inventory_violation(schedules, seed)
    print(found or f"{schedules} schedules of inventory checkpoints: nothing broken")
    return 1 if found else 0


def simulate_seals(schedules: int, seed: int) -> int:
    """Run worlds in which the journal is sealed as well; 1 when a schedule failed."""
    found = first_seal_violation(schedules, seed)
    print(found or f"{schedules} schedules of seals: nothing broken")
    return 1 if found else 0


def simulate_places(schedules: int, seed: int) -> int:
    """Run worlds with journals elsewhere as well; 1 when a schedule failed."""
    found = first_two_store_violation(schedules, seed) or first_place_violation(schedules, seed)
    print(found or f"{schedules} schedules of journals elsewhere: nothing broken")
    return 1 if found else 0


def explore_all(which: str) -> int:
    """Explore the worlds two at a time, and print what was seen of each."""
    began = time.monotonic()
    states = 0
    with ProcessPoolExecutor(2) as pool:
        titles = [world.title for world in WORLDS[which]()]
        jobs = [pool.submit(_explore_one, which, index) for index in range(len(titles))]
        for title, job in zip(titles, jobs, strict=True):
            found = job.result()
            states += found.states
            print(
                f"{found.states:>10,} states  {len(found.shelves):>7,} lakes  {found.ends:>6,} ends"
                f"  {found.seconds:6.1f} s  {title}",
                flush=True,
            )
    print(f"{states:,} states in {time.monotonic() - began:.0f} s: no invariant broken")
    return 0


def _explore_one(which: str, index: int) -> Found:
    """Worlds hold functions, which do not travel between processes: name them instead."""
    return explore(WORLDS[which]()[index])


def show_mutations() -> int:
    """Print the table of mutations; 1 when one of them was not noticed."""
    broken = fails_with_every_rule()
    if broken:
        print(f"{broken} fails although no rule is off; run the tests first")
        return 1
    catches: list[Catch] = [catch(mutation) for mutation in MUTATIONS]
    catches += [catch_tally(mutation) for mutation in TALLY_MUTATIONS]
    catches += [catch_lease(mutation) for mutation in LEASE_MUTATIONS]
    catches += [catch_inventory(mutation) for mutation in INVENTORY_MUTATIONS]
    catches += [catch_seal(mutation) for mutation in SEAL_MUTATIONS]
    catches += [catch_place(mutation) for mutation in PLACE_MUTATIONS]
    print(table(catches))
    missed = [each.rule for each in catches if not each.by]
    print(f"{len(catches) - len(missed)} of {len(catches)} mutations caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
