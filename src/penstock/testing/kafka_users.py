"""Users of a secured Kafka for tests: their passwords, and what they may do.

Needs `confluent-kafka`, a dependency of development only. Every call waits until the broker has
answered, and raises on any error.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

B = TypeVar("B", AclBinding, AclBindingFilter)

_TIMEOUT_S = 30.0
_ITERATIONS = 4096  # the least that Kafka takes


@dataclass(frozen=True, slots=True)
class Right:
    """What a user may do with one resource: `kind` is `topic` or `group`."""

    kind: str
    name: str
    operation: str

    @staticmethod
    def on_topic(name: str, *operations: str) -> "list[Right]":
        """Rights on a topic, such as `READ` and `DESCRIBE`."""
        return [Right("topic", name, each) for each in operations]

    @staticmethod
    def on_group(name: str, *operations: str) -> "list[Right]":
        """Rights on a consumer group."""
        return [Right("group", name, each) for each in operations]


class KafkaUsers:
    """The users of one cluster, over a listener that asks nobody who he is."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})

    def set_password(self, user: str, password: str) -> None:
        """Create a user for SCRAM-SHA-512, or give it another password. Others need not agree."""
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS)
        wanted = UserScramCredentialUpsertion(user, info, password.encode())
        for each in self._admin.alter_user_scram_credentials([wanted]).values():
            each.result(_TIMEOUT_S)

    def allow(self, user: str, rights: Iterable[Right]) -> None:
        """Give a user rights, from any host."""
        wanted = [_binding(AclBinding, user, right) for right in rights]
        for each in self._admin.create_acls(wanted).values():
            each.result(_TIMEOUT_S)

    def revoke(self, user: str, rights: Iterable[Right]) -> None:
        """Take rights from a user; those that it does not have are no error."""
        wanted = [_binding(AclBindingFilter, user, right) for right in rights]
        for each in self._admin.delete_acls(wanted).values():
            each.result(_TIMEOUT_S)


def _binding(kind: type[B], user: str, right: Right) -> B:
    return kind(
        ResourceType[right.kind.upper()],
        right.name,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        AclOperation[right.operation],
        AclPermissionType.ALLOW,
    )
