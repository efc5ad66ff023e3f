"""Errors of names that nothing is behind, or nothing that can be used."""

import difflib
from collections.abc import Sequence
from typing import ClassVar

from penstock.errors import PenstockError
from penstock.model.plugin import PluginRef

OWN_PACKAGE = "penstock"


class PluginError(PenstockError):
    """A name of the configuration does not lead to a plug-in that can be used."""

    code = "PLUGIN"
    exit_code = 2
    state: ClassVar[str] = "broken"  # one word for lists


class PluginUnknown(PluginError):
    """No installed package offers anything of this name."""

    code = "PLUGIN_UNKNOWN"
    state = "unknown"

    def __init__(self, door: str, group: str, name: str, known: Sequence[str]) -> None:
        meant = difflib.get_close_matches(name, known, n=1)
        there = f"there are: {', '.join(known)}" if known else "there are none"
        guess = f"; did you mean {meant[0]!r}?" if meant else "."
        super().__init__(
            f"No installed package offers a {door} called {name!r}; {there}{guess}",
            f"Nothing was read. Correct the name, or install the package that offers it in the "
            f"entry-point group `{group}`; `penstock plugins` lists what is there.",
        )
        self.name = name
        self.known = tuple(known)
        self.meant = meant[0] if meant else ""


class PluginAmbiguous(PluginError):
    """Several packages offer different things under one name."""

    code = "PLUGIN_AMBIGUOUS"
    state = "ambiguous"

    def __init__(self, offers: Sequence[PluginRef]) -> None:
        first = offers[0]
        packages = " and ".join(each.origin for each in offers)
        super().__init__(
            f"Several packages offer a {first.door} called {first.name!r}, {packages}:",
            "uninstall all but one of them.",
        )
        self.offers = tuple(offers)


class ExtraMissing(PluginError):
    """A package is there, but not the optional part of it that this needs."""

    code = "EXTRA_MISSING"
    state = "missing extra"

    def __init__(self, ref: PluginRef, module: str) -> None:
        self.install = f"pip install '{ref.package}[{','.join(ref.extras)}]'"
        super().__init__(
            f"The {ref.door} {ref.name!r} needs the module {module!r}, which is not installed:",
            f"run `{self.install}` here and on every executor.",
        )
        self.ref = ref


class StoreSettingUnknown(PluginError):
    """A setting of a store that this kind of store does not have. For stores to raise."""

    code = "STORE_SETTING_UNKNOWN"

    def __init__(self, scheme: str, key: str, known: Sequence[str] = ()) -> None:
        there = f"it has: {', '.join(known)}" if known else "it has none"
        super().__init__(
            f"A store on {scheme}:// has no setting {key!r}; {there}.",
            "Nothing was read or written. Correct `store:` in the configuration.",
        )
        self.key = key


class StoreSettingWrong(PluginError):
    """A setting of a store has a value that it cannot have. For stores to raise."""

    code = "STORE_SETTING_WRONG"

    def __init__(self, scheme: str, key: str, found: str, allowed: str) -> None:
        super().__init__(
            f"The setting {key!r} of a store on {scheme}:// is {found}; it must be {allowed}.",
            "Nothing was read or written. Correct `store:` in the configuration.",
        )
        self.key = key


class PluginBroken(PluginError):
    """What is behind a name cannot be imported, or is not what the door asks for."""

    code = "PLUGIN_BROKEN"

    def __init__(self, ref: PluginRef, why: str) -> None:
        super().__init__(
            f"The {ref.door} {ref.name!r} of {ref.origin} ({ref.target}) cannot be used: {why}.",
            "Nothing was read. Repair or upgrade the package, or remove the name from the "
            "configuration.",
        )
        self.ref = ref
        self.why = why
