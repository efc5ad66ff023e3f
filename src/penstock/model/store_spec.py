"""Where a store is and how it is opened."""

from penstock.model.plugin import PluginRef
from penstock.model.value import Value

LOCAL = "file"


class StoreSpec(Value, frozen=True):
    """Everything that opens a store, in any process. `settings` print as `***`.

    `address` is a path where the scheme is `file`, and what follows `://` elsewhere. In a
    configuration the settings still refer to secrets; `config` replaces the references before the
    store is opened, and the result travels to executors in a closure and nowhere else.
    """

    scheme: str
    address: str
    opener: PluginRef
    settings: dict[str, str] = {}

    @property
    def uri(self) -> str:
        """The place as a user writes it: a path, or an address with its scheme."""
        return self.address if self.scheme == LOCAL else f"{self.scheme}://{self.address}"

    def __repr__(self) -> str:
        hidden = f", settings of {sorted(self.settings)}: ***" if self.settings else ""
        return f"StoreSpec({self.uri!r}{hidden})"
