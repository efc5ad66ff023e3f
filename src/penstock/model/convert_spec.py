"""The steps of `convert` as frozen values.

A step has no effect on a dataset that does not have its field, so one list of steps serves all
datasets of a feed, unless a step names its datasets.
"""

from collections.abc import Iterable
from typing import Literal

from penstock.model.names import encode_component
from penstock.model.plugin import PluginRef
from penstock.model.value import Value

Verb = Literal[
    "rename",
    "drop",
    "keep",
    "cast",
    "set",
    "filter",
    "flatten",
    "mask",
    "hash",
    "encrypt",
    "plugin",
]
Constant = str | int | float | bool | None


class Condition(Value, frozen=True):
    """A condition on a row: the value at a path has to meet all tests.

    `null` True needs no value, False any value. `fits` is an RE2 expression for a whole string.
    Only numbers meet `least`, `most` and `multiple_of`; the last one only integers.
    """

    path: str
    one_of: tuple[Constant, ...] = ()
    fits: str = ""
    null: bool | None = None
    least: int | float | None = None
    most: int | float | None = None
    multiple_of: int | None = None


RecordSource = Literal["time", "timestamp", "topic", "partition", "offset", "key", "header"]


class RecordValue(Value, frozen=True):
    """What `set` takes from each record: from where, as a column of which kind.

    `kind` is a word of `cast`, or `bytes`. `name` is that of a header.
    """

    source: RecordSource
    kind: str
    name: str = ""


class ConvertSpec(Value, frozen=True):
    """One step. `paths` are its fields; `words` are the arguments for each field.

    `words` are new names (rename), types (cast), numbers of characters (mask), and references to
    secrets (hash, encrypt); `constants` are values (set), in the order of `paths`, as are
    `from_record`, in which None means the constant; empty: all are constants. Of a plug-in
    `words` has the name, `paths` the names of its options and `constants` their values; `ref` is
    the plug-in itself, once the driver has found it. With `datasets` the step applies only to
    these, by the values of the route.
    """

    verb: Verb
    paths: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    constants: tuple[Constant, ...] = ()
    conditions: tuple[Condition, ...] = ()
    datasets: tuple[str, ...] = ()
    ref: PluginRef | None = None
    from_record: tuple[RecordValue | None, ...] = ()

    @property
    def settings(self) -> Iterable[tuple[str, Constant, RecordValue | None]]:
        """What `set` sets: a field, and a constant for it or what is taken from the record."""
        taken = self.from_record or (None,) * len(self.paths)
        return zip(self.paths, self.constants, taken, strict=True)

    @property
    def sets_null(self) -> bool:
        """True when a field is set to the constant null."""
        if self.verb != "set":
            return False
        return any(value is None and taken is None for _, value, taken in self.settings)

    @property
    def is_of_partition(self) -> bool:
        """True when what becomes of a record depends on its partition, or may."""
        if self.verb in {"encrypt", "plugin"}:
            return True
        return any(each is not None and each.source == "partition" for each in self.from_record)

    @property
    def references(self) -> tuple[str, ...]:
        """The references to secrets in this step."""
        return self.words if self.verb in {"hash", "encrypt"} else ()


def steps_for(steps: Iterable[ConvertSpec], dataset: str) -> tuple[ConvertSpec, ...]:
    """The steps for one dataset, by the name of its directory."""
    return tuple(
        each
        for each in steps
        if not each.datasets or dataset in map(encode_component, each.datasets)
    )
