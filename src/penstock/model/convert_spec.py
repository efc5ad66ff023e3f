"""What a user wants done to the fields of records on their way, step by step.

A step that names a field which a dataset does not have does nothing there: one list of steps serves
all datasets of a feed, unless it names the ones it is for.
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
    """When a row passes: the value at a path has to fulfil everything that is asked here.

    `null` True asks for no value, False for any. `fits` is an expression of RE2 for a whole text.
    `least`, `most` and `multiple_of` are fulfilled by numbers, the last one by whole ones only.
    """

    path: str
    one_of: tuple[Constant, ...] = ()
    fits: str = ""
    null: bool | None = None
    least: int | float | None = None
    most: int | float | None = None
    multiple_of: int | None = None


class ConvertSpec(Value, frozen=True):
    """One step. `paths` are the fields it is about; `words` say what becomes of each.

    `words` are new names (rename), types (cast), how much is shown (mask), and references to
    secrets (hash, encrypt); `constants` are values (set), in the order of `paths`. Of a plug-in
    `words` has the name, `paths` the names of its options and `constants` their values; `ref` is
    what the name stands for, once the driver has found it. With `datasets` the step is for these
    only, by the values that route to them.
    """

    verb: Verb
    paths: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    constants: tuple[Constant, ...] = ()
    conditions: tuple[Condition, ...] = ()
    datasets: tuple[str, ...] = ()
    ref: PluginRef | None = None

    @property
    def references(self) -> tuple[str, ...]:
        """The references to secrets in it."""
        return self.words if self.verb in {"hash", "encrypt"} else ()


def steps_for(steps: Iterable[ConvertSpec], dataset: str) -> tuple[ConvertSpec, ...]:
    """The steps for one dataset, by the name of its directory."""
    return tuple(
        each
        for each in steps
        if not each.datasets or dataset in map(encode_component, each.datasets)
    )
