"""A Kafka with security on: one broker, a listener for each way to reach it, right or wrong.

    with secured_kafka(directory, jar_paths("broker", cache), java) as secured:
        users = KafkaUsers(secured.kafka.bootstrap)
        users.set_password("penstock", "the password")
        users.allow("penstock", Right.on_topic("orders", "READ", "DESCRIBE"))
        ...secured.servers(LOGIN), secured.ca.path, secured.ca.sign("penstock")...

Users have no rights but those that they are given. Only the plain listener, on loopback, is without
any restriction: tests write and administer through it.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from penstock.testing.broker import EmbeddedKafka, Listener
from penstock.testing.certificates import Authority
from penstock.testing.servers import LOOPBACK
from penstock.testing.token_server import AUDIENCE, ISSUER, TokenServer

LOGIN = "LOGIN"  # SASL over TLS: PLAIN, SCRAM-SHA-512, OAUTHBEARER
TLS = "TLS"
MTLS = "MTLS"  # a client certificate is required
WRONG_HOST = "WRONGHOST"  # its certificate is for another host
EXPIRED = "EXPIRED"
STRANGER = "STRANGER"  # its certificate is signed by another authority

PLAIN_USER = "plain-reader"
PLAIN_PASSWORD = "plain-Pa55word"  # noqa: S105 -- the broker of a test has it for this user only

_KAFKA = "org.apache.kafka.common.security"
_ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"


@dataclass(frozen=True, slots=True)
class SecuredKafka:
    """A running broker, what clients trust, and who may log in."""

    kafka: EmbeddedKafka
    ca: Authority
    tokens: TokenServer

    def servers(self, listener: str) -> str:
        """The address of a listener, for `bootstrap.servers`."""
        return self.kafka.bootstrap_of(listener)


@contextlib.contextmanager
def secured_kafka(
    directory: Path, jars: Sequence[Path], java: Path, reauthenticate_ms: int = 0
) -> Iterator[SecuredKafka]:
    """A secured broker as long as the block lasts, and a token server beside it.

    With `reauthenticate_ms`, connections that have not logged in again after that time, or when
    their token has expired, are closed.
    """
    ca, other = Authority(directory, "ca"), Authority(directory, "stranger-ca")
    ca.sign("broker", LOOPBACK, "localhost")
    ca.sign("wrong-host", "wrong.example")
    ca.sign("expired", LOOPBACK, "localhost", valid=timedelta(days=-1))
    other.sign("stranger", LOOPBACK, "localhost")
    with TokenServer({}) as tokens:
        keys = directory / "jwks.json"
        keys.write_text(tokens.keys)
        cluster = EmbeddedKafka(
            directory / "kafka",
            jars,
            java,
            properties=_properties(ca),
            listeners=[
                Listener(LOGIN, "SASL_SSL", _logins(keys, reauthenticate_ms)),
                Listener(TLS, "SSL"),
                Listener(MTLS, "SSL", {"ssl.client.auth": "required"}),
                Listener(WRONG_HOST, "SSL", _key_store(ca.path_of("wrong-host"))),
                Listener(EXPIRED, "SSL", _key_store(ca.path_of("expired"))),
                Listener(STRANGER, "SSL", _key_store(other.path_of("stranger"))),
            ],
            java_options=["-Xmx384m", f"-D{_ALLOWED_URLS}={keys.as_uri()}"],
        )
        with cluster:
            yield SecuredKafka(cluster, ca, tokens)


def _properties(ca: Authority) -> dict[str, str]:
    return {
        **_key_store(ca.path_of("broker")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca.path),
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        # Who comes without a name: the broker itself, and tests on the plain listener.
        "super.users": "User:ANONYMOUS",
    }


def _key_store(path: Path) -> dict[str, str]:
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(path)}


def _logins(keys: Path, reauthenticate_ms: int) -> dict[str, str]:
    plain = f'{_KAFKA}.plain.PlainLoginModule required user_{PLAIN_USER}="{PLAIN_PASSWORD}";'
    scram = f"{_KAFKA}.scram.ScramLoginModule required;"
    oauth = f"{_KAFKA}.oauthbearer.OAuthBearerLoginModule required;"
    validator = f"{_KAFKA}.oauthbearer.OAuthBearerValidatorCallbackHandler"
    return {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
        "plain.sasl.jaas.config": plain,
        "scram-sha-512.sasl.jaas.config": scram,
        "oauthbearer.sasl.jaas.config": oauth,
        "oauthbearer.sasl.server.callback.handler.class": validator,
        "oauthbearer.sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "oauthbearer.sasl.oauthbearer.expected.audience": AUDIENCE,
        "oauthbearer.sasl.oauthbearer.expected.issuer": ISSUER,
        **(
            {"oauthbearer.connections.max.reauth.ms": str(reauthenticate_ms)}
            if reauthenticate_ms
            else {}
        ),
    }
