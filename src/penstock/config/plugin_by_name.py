"""The plug-in that a key names. One that cannot be used is listed with all mistakes of the file.

If nothing else is wrong, the file is right, and the error of the plug-in itself is raised instead.
"""

from typing import Protocol, TypeVar

from penstock.api.errors import PluginError, PluginUnknown
from penstock.api.find import Door, load, offer
from penstock.config.mistakes import Refused, shown
from penstock.model.plugin import PluginRef


class HasName(Protocol):
    """A plug-in that knows its own name, as codecs and file formats do."""

    @property
    def name(self) -> str:
        """The word for it in configurations."""
        ...


Named_co = TypeVar("Named_co", bound=HasName, covariant=True)


def plugin_by_name(door: Door[Named_co], name: str) -> PluginRef:
    """Import and check the plug-in of a name. Raises `Refused` where it cannot be used."""
    try:
        ref = offer(door, name)
        own_name = load(door, ref).name
    except PluginUnknown as error:
        raise Refused(f"found {shown(name)}", " | ".join(error.known), error.meant) from None
    except PluginError as error:
        raise refusal(error) from None
    if own_name != name:
        found = f"{ref.target} of {ref.origin} calls itself {shown(own_name)}"
        raise Refused(found, f"a {door.word} of the name {shown(name)}")
    return ref


def refusal(error: PluginError) -> Refused:
    """An error of a plug-in, to be listed with the mistakes of the configuration."""
    refused = Refused(error.found.rstrip(":"), error.advice.rstrip("."))
    refused.plugin = error
    return refused
