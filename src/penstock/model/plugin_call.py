"""What a configuration asks a plug-in for: its name, and the options it is made with."""

import msgspec

from penstock.model.convert_spec import Constant
from penstock.model.plugin import PluginRef
from penstock.model.value import Value

Options = tuple[tuple[str, Constant], ...]


class PluginCall(Value, frozen=True):
    """A plug-in by its name, with options. `ref` is what the name stands for.

    The driver fills in `ref` before the call travels; see `PluginRef`.
    """

    name: str
    options: Options = ()
    ref: PluginRef | None = None

    @property
    def key(self) -> bytes:
        """The call as one word: 1 and True are equal as options, and mean two things."""
        return msgspec.json.encode(self)
