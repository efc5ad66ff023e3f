"""What acts are handed: the store, and a part of a decided entry; and what every act can do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from penstock.api.store import Store
from penstock.model.entries import SealedEntry
from penstock.model.lanes import FILES, part_of, steps_in
from penstock.model.manifest import Group
from penstock.model.staged import StagedHandle
from penstock.model.steps import Steps
from penstock.runtime.surroundings import Acts, one_by_one

PartKey: TypeAlias = tuple[int, str]  # the number of an entry, and one of its parts
PublishAll: TypeAlias = Callable[[Store, Sequence[StagedHandle]], set[str]]


def from_here(store: Store, handles: Sequence[StagedHandle]) -> set[str]:
    """Publish many files by this process alone; the final names for which it is not certain."""
    return store.publish_all(handles)


@dataclass(frozen=True, slots=True)
class StepTools:
    """What acts may use: the store, and a way to do independent things one by one or in parallel.

    `publish_all` is how many files are published: from here, or by many processes. Connections to
    catalogs of tables belong here once there are steps that need them.
    """

    store: Store
    do_all: Callable[[Acts], None] = one_by_one
    publish_all: PublishAll = from_here


@dataclass(frozen=True, slots=True)
class GroupWork:
    """One part of a decided entry, which is a lane of a group: what its steps are done to.

    `handles` are the files of the group, with those that were lost replaced, and `rows` how many
    each of them has; `inputs` the names of the files that it consumes. `complete` are directories
    that become final, in the order in which they are marked.
    """

    sealed: SealedEntry
    group: Group
    lane: str = FILES
    handles: tuple[StagedHandle, ...] = ()
    inputs: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    complete: tuple[str, ...] = ()

    @property
    def dataset(self) -> str:
        """The dataset of the group."""
        return self.group.dataset

    @property
    def part(self) -> str:
        """The name of the part."""
        return part_of(self.group.dataset, self.lane)

    @property
    def key(self) -> PartKey:
        """The entry and the part."""
        return self.sealed.number, self.part

    @property
    def steps(self) -> Steps:
        """The steps of the lane in the order in which they were decided."""
        return steps_in(self.group.steps, self.lane)


class Act(Protocol):
    """How one step is done. Runs on the driver; all of it may be repeated by anyone."""

    def is_done(self, work: GroupWork) -> bool:
        """Look, and change nothing. By identity (our size, our checksum), not by existence."""
        ...

    def do(self, work: GroupWork) -> None:
        """Do it for one group. Raises `OutcomeUnknown` when no answer came."""
        ...

    def do_many(self, works: Sequence[GroupWork]) -> set[PartKey]:
        """Do it for many groups in the quickest way; those for which it is certainly done.

        Does not wait and does not try again. The others are done one by one afterwards.
        """
        ...
