"""Errors of a schema registry: it does not answer, refuses us, or is not one."""

from penstock.errors import PenstockError

_HELD = (
    "A running feed holds the partitions whose records need a schema that is not known yet, asks "
    "again by itself, and goes on with the others."
)


class RegistryTrouble(PenstockError):
    """The registry did not tell what was asked. All that nobody else could tell has to wait.

    Whatever stands before a registry that is down may answer in its place, with a refusal or a
    login page, so no answer of this kind is reason enough to stop a feed.
    """


class RegistryDown(RegistryTrouble):
    """The registry did not answer; what it would have told is not known."""

    code = "REGISTRY_UNAVAILABLE"

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"The schema registry at {url} is not available: {why}.",
            f"{_HELD} Check that it runs and that `registry.url` is right; nothing else is to be "
            "done.",
        )
        self.url = url


class RegistryRefused(RegistryTrouble):
    """The registry does not let us in."""

    code = "REGISTRY_REFUSED"
    exit_code = 2

    def __init__(self, url: str, status: int) -> None:
        super().__init__(
            f"The schema registry at {url} refused us ({status}).",
            f"{_HELD} If it does not pass, give `registry` a user and a password, or a token, that "
            "may read schemas, and start again.",
        )
        self.url = url


class RegistryWrong(RegistryTrouble):
    """Something answered that is no schema registry, or not a sound one."""

    code = "REGISTRY_WRONG"
    exit_code = 2

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"What answers at {url} is not a usable schema registry: {why}.",
            f"{_HELD} If it does not pass, correct `registry.url`, which must lead to Confluent's "
            "API, with its path if it has one, such as http://host:8081 or "
            "http://host:8080/apis/ccompat/v7, and start again.",
        )
        self.url = url
