"""The paths of a feed's objects in the lake."""

import re

from penstock.model.names import NULL_NAME, encode_component
from penstock.model.value import Value

SHARD = 10_000  # entries per directory, so that listings do not grow with the journal
_NUMBER = re.compile(r"(\d{20})(?:\.json)?$")
_HOME = "_penstock"
_INCARNATION = re.compile(r"-\d+$")

# What decides or describes lies with the journal, also where that has a store of its own. All else
# holds records or proves something of the data, and lies in the lake: docs/protocol.md says why.
JOURNAL_ROOMS = frozenset(
    {
        "journal",
        "done",
        "segments",
        "checkpoints",
        "inventory",
        "manifests",
        "schemas",
        "reading",
        "registry",
        "configs",
        "lease",
        "accepted",
        "halted",
    }
)


def number_in(component: str) -> int | None:
    """The number in the name of an entry, marker or checkpoint; None for other names."""
    found = _NUMBER.fullmatch(component)
    return int(found[1]) if found else None


def is_journal_key(key: str) -> bool:
    """Whether an object lies with the journal, rather than in the lake."""
    names = key.split("/")
    return len(names) > 3 and _is_journal_room(names)


def is_entry_key(key: str) -> bool:
    """Whether an object is an entry of a feed's journal, of any incarnation."""
    names = key.split("/")
    return (
        len(names) > 4 and names[0] == _HOME and _INCARNATION.sub("", names[2]) == "journal"
    ) and number_in(names[-1]) is not None


def is_journal_prefix(prefix: str) -> bool | None:
    """The same for all objects below a directory; None if it may have objects of both kinds."""
    names = prefix.removesuffix("/").split("/")
    if prefix in ("", "/") or (names[0] == _HOME and len(names) < 3):
        return None
    return _is_journal_room(names)


def _is_journal_room(names: list[str]) -> bool:
    return names[0] == _HOME and len(names) > 2 and _INCARNATION.sub("", names[2]) in JOURNAL_ROOMS


class Layout(Value, frozen=True):
    """The keys of one feed. A rebuilt journal (incarnation 2 and up) has its own directories."""

    feed: str
    incarnation: int = 1

    def _home(self, room: str) -> str:
        suffix = "" if self.incarnation == 1 else f"-{self.incarnation}"
        return f"{_HOME}/{self.feed}/{room}{suffix}"

    @property
    def journal(self) -> str:
        """The directory of the entries."""
        return self._home("journal")

    @property
    def done(self) -> str:
        """The directory of the done markers."""
        return self._home("done")

    @property
    def checkpoints(self) -> str:
        """The directory of the checkpoints."""
        return self._home("checkpoints")

    @property
    def inventory_roots(self) -> str:
        """The directory of the roots of inventory checkpoints, each named after an entry."""
        return f"{self._home('inventory')}/roots"

    @property
    def inventory_shards(self) -> str:
        """The directory of the shards that those roots name."""
        return f"{self._home('inventory')}/shards"

    @property
    def segments(self) -> str:
        """The directory of sealed segments, each named after its first entry."""
        return self._home("segments")

    @property
    def manifests(self) -> str:
        """The directory of the manifest objects of large entries."""
        return self._home("manifests")

    @property
    def schemas(self) -> str:
        """The directory of the datasets' schemas, numbered per dataset: the columns of files."""
        return self._home("schemas")

    @property
    def reading(self) -> str:
        """The directory of schemas of records, for datasets whose records are converted."""
        return self._home("reading")

    @property
    def registry(self) -> str:
        """The directory of the schemas that records name, as fetched from a registry."""
        return self._home("registry")

    @property
    def configs(self) -> str:
        """The directory of the configurations that shaped rows, by their digests."""
        return self._home("configs")

    @property
    def corrections(self) -> str:
        """The directory of the corrected records that replays have delivered."""
        return self._home("corrections")

    @property
    def accepted(self) -> str:
        """The directory of accepted windows, by the number of windows before each."""
        return self._home("accepted")

    @property
    def halted(self) -> str:
        """The directory of what is left when the feed halts."""
        return self._home("halted")

    @property
    def staging(self) -> str:
        """The prefix of staged files."""
        return self._home("staging")

    @property
    def lease(self) -> str:
        """The directory of the owner's beats."""
        return self._home("lease")

    @property
    def tails(self) -> str:
        """The directory of tail marks, with the data: they show that a journal is too old."""
        suffix = "" if self.incarnation == 1 else f"-{self.incarnation}"
        return f"{self.feed}/_tail{suffix}"

    @property
    def journal_place(self) -> str:
        """The key of what says where the journal lies, if not here: listed with the tail marks."""
        return f"{self.tails}/journal.json"

    @property
    def quarantine(self) -> str:
        """The directory of the quarantine's files, which stay when a journal is rebuilt."""
        return f"{_HOME}/{self.feed}/quarantine"

    def quarantine_of(self, team: str, dataset: str) -> str:
        """The directory of quarantined records; both arguments may be empty.

        The first level is called `owner`, the former name of a team.
        """
        named = encode_component(team) if team else NULL_NAME
        return f"{self.quarantine}/owner={named}/dataset={dataset or NULL_NAME}"

    @property
    def data(self) -> str:
        """The directory of the feed's datasets."""
        return self.feed

    @property
    def data_prefixes(self) -> tuple[str, str]:
        """The directories with files that windows publish: datasets, and the quarantine.

        No other journal has files in them, so whatever is staged there is judged by this one.
        """
        return self.data, self.quarantine

    def shard(self, room: str, number: int) -> str:
        """The directory in `room` (journal or done) for a number."""
        return f"{room}/{number // SHARD}"

    def entry(self, number: int) -> str:
        """The key of an entry."""
        return f"{self.shard(self.journal, number)}/{number:020}.json"

    def marker(self, number: int) -> str:
        """The key of the done marker of an entry."""
        return f"{self.shard(self.done, number)}/{number:020}.json"

    def part_marker(self, number: int, part: str) -> str:
        """The key of the marker of one part that was done after the others."""
        return f"{self.shard(self.done, number)}/{number:020}/{part}.json"

    def segment(self, first: int) -> str:
        """The key of the segment that begins with an entry."""
        return f"{self.segments}/{first:020}.json"

    def checkpoint(self, number: int) -> str:
        """The key of the checkpoint of the fold up to and including an entry."""
        return f"{self.checkpoints}/{number:020}.json"

    def inventory_root(self, number: int) -> str:
        """The key of the root of the inventory up to and including an entry."""
        return f"{self.inventory_roots}/{number:020}.json"

    def inventory_shard(self, number: int, sha256: str) -> str:
        """The key of a shard: the entry up to which it was written, and the hash of its content."""
        return f"{self.inventory_shards}/{number:020}-{sha256}.json"

    def tail(self, number: int) -> str:
        """The key of a tail mark."""
        return f"{self.tails}/{number:020}.json"

    def halted_object(self, epoch: int, number: int) -> str:
        """The key of why the feed halted before an entry, in an epoch."""
        return f"{self.halted}/{epoch}-{number:020}.json"

    def halted_samples(self, epoch: int, number: int) -> str:
        """The key of broken records of the window at which the feed halted."""
        return f"{self.halted}/{epoch}-{number:020}.samples.json"

    def config(self, digest: str) -> str:
        """The key of a configuration that shaped rows."""
        return f"{self.configs}/{digest}.json"

    def manifest(self, window: str) -> str:
        """The key of a window's manifest object."""
        return f"{self.manifests}/{window}.json"
