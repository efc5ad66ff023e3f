"""Errors of a schema registry: it does not answer, refuses access, or is not a registry."""

from penstock.errors import PenstockError

_HELD = (
    "A running feed holds the partitions whose records need an unknown schema, asks the registry "
    "again, and goes on with the other partitions."
)


class RegistryTrouble(PenstockError):
    """The registry did not give a schema. Partitions that need it have to wait.

    A proxy may answer in place of a registry that is down, with a refusal or a login page. So no
    such answer stops a feed.
    """


class RegistryDown(RegistryTrouble):
    """The registry did not answer."""

    code = "REGISTRY_UNAVAILABLE"

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"The schema registry at {url} is not available: {why}.",
            f"{_HELD} Check that it runs and that `registry.url` is right.",
        )
        self.url = url


class RegistryRefused(RegistryTrouble):
    """The registry refused access."""

    code = "REGISTRY_REFUSED"
    exit_code = 2

    def __init__(self, url: str, status: int) -> None:
        super().__init__(
            f"The schema registry at {url} refused access ({status}).",
            f"{_HELD} If this persists, give `registry` a user and a password, or a token, that "
            "may read schemas, and start again.",
        )
        self.url = url


class RegistryWrong(RegistryTrouble):
    """The answer did not come from a working schema registry."""

    code = "REGISTRY_WRONG"
    exit_code = 2

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"The server at {url} is not a usable schema registry: {why}.",
            f"{_HELD} If this persists, correct `registry.url`. It must be the address of "
            "Confluent's API, with its path if it has one, such as http://host:8081 or "
            "http://host:8080/apis/ccompat/v7, and start again.",
        )
        self.url = url
