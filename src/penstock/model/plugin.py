"""What a name of the configuration stands for: an attribute of a module of an installed package."""

from penstock.model.value import Value


class PluginRef(Value, frozen=True):
    """Something behind a door, by where it is defined.

    The driver finds it by its name once. Tasks get this value and import `target`: an executor has
    no metadata of packages, so it could not look up a name.
    """

    door: str  # the word for the door, such as `route`
    name: str
    target: str  # module:attribute
    package: str = ""
    version: str = ""
    extras: tuple[str, ...] = ()  # of the package; what the target needs to be imported

    @property
    def origin(self) -> str:
        """The package and its version, for messages."""
        return f"{self.package} {self.version}".strip() or "a package without a name"
