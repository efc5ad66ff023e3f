"""Errors of reading from Kafka: it does not answer, or security stands between it and us.

All of them may pass, so a running feed tries again, after growing pauses, and with certificates
and secrets as they are then. Nothing was read and nothing has changed.
"""

from collections.abc import Sequence
from typing import Literal

from penstock.api.source import SourceUnavailable
from penstock.errors import PenstockError

_GOES_ON = "A run tries again by itself."


class KafkaUnavailable(SourceUnavailable):
    """No broker answered, or what it answered has no error of its own."""

    code = "KAFKA_UNAVAILABLE"

    remedy = (
        "Check that Kafka runs, that `bootstrap.servers` is right and that the security settings "
        "give access; then run again."
    )

    def __init__(self, servers: str, why: str) -> None:
        super().__init__(f"Kafka at {servers}", why)
        self.servers = servers


class KafkaRefused(KafkaUnavailable):
    """The base of what security has to say. `why` is what Kafka's client said, in one line."""

    def __init__(self, servers: str, found: str, advice: str, why: str = "") -> None:
        said = f" ({why})" if why else ""
        PenstockError.__init__(self, f"{found}{said}.", f"Nothing was read. {advice} {_GOES_ON}")
        self.servers = servers
        self.why = why


class BrokerCertificateWrong(KafkaRefused):
    """The broker's certificate was refused by us, so nothing was sent to it."""

    code = "KAFKA_CERTIFICATE"

    def __init__(self, servers: str, found: str, advice: str, why: str = "") -> None:
        super().__init__(servers, f"The certificate of Kafka at {servers} {found}", advice, why)


class ClientCertificateRefused(KafkaRefused):
    """The broker wants a client certificate, and we sent none, or one that it does not accept."""

    code = "KAFKA_CLIENT_CERTIFICATE"

    def __init__(self, servers: str, *, has_one: bool, why: str = "") -> None:
        found = "refused our client certificate" if has_one else "wants a client certificate"
        advice = (
            "Check that the certificate in `ssl.keystore.location` has not expired, and that it is "
            "signed by an authority that the broker trusts."
            if has_one
            else "Set `ssl.keystore.type: PEM` and `ssl.keystore.location` to a file with our key "
            "and certificate."
        )
        super().__init__(servers, f"Kafka at {servers} {found}", advice, why)


class ProtocolWrong(KafkaRefused):
    """`security.protocol` is not what this port of the broker speaks."""

    code = "KAFKA_PROTOCOL"

    def __init__(self, servers: str, ours: str, wanted: str, why: str = "") -> None:
        super().__init__(
            servers,
            f"Kafka at {servers} {wanted}, and `security.protocol` is {ours}",
            "Set `security.protocol` to what this port of the broker speaks (PLAINTEXT, SSL, "
            "SASL_PLAINTEXT or SASL_SSL), or set `bootstrap.servers` to another port.",
            why,
        )


class LoginRefused(KafkaRefused):
    """The broker did not accept user and password, or the token."""

    code = "KAFKA_LOGIN"

    def __init__(self, servers: str, mechanism: str, why: str = "") -> None:
        super().__init__(
            servers,
            f"Kafka at {servers} refused our login by {mechanism}",
            "Correct the user or the secret that `sasl.jaas.config` refers to, or "
            "`sasl.mechanism`; a secret from `${file:...}` is read again at every try.",
            why,
        )


class TokenNotGiven(KafkaRefused):
    """The token endpoint did not give us a token, so the broker was not asked."""

    code = "KAFKA_TOKEN"

    def __init__(self, servers: str, url: str, why: str = "") -> None:
        where = f" from {url}" if url else ""
        advice = (
            "Check that this address answers, and that `clientId` and `clientSecret` in "
            "`sasl.jaas.config` are right."
            if url
            else "Set `sasl.oauthbearer.token.endpoint.url`."
        )
        found = f"No token for Kafka at {servers} could be got{where}"
        super().__init__(servers, found, advice, why)


class NotAuthorized(KafkaRefused):
    """The user may not do something with topics or a consumer group.

    Kafka gives the same answer about a topic that does not exist, if we may not see it.
    """

    code = "KAFKA_NOT_AUTHORIZED"

    def __init__(
        self, servers: str, kind: Literal["topic", "group"], names: Sequence[str], act: str = "read"
    ) -> None:
        several = "s" if len(names) > 1 else ""
        named = ", ".join(map(repr, names)) or "that was asked for"
        rights = "Read and Describe" if kind == "topic" else "Read"
        super().__init__(
            servers,
            f"Our user may not {act} the {kind}{several} {named} of Kafka at {servers}",
            f"Give it {rights} on the {kind}{several}, by `kafka-acls --add` or as your cluster "
            "does it.",
        )
        self.kind = kind
        self.names = tuple(names)


class ClientSettingsWrong(KafkaRefused):
    """Kafka's client cannot use its settings: a file is missing, or is not what it should be."""

    code = "KAFKA_SETTINGS"

    def __init__(self, servers: str, why: str) -> None:
        super().__init__(
            servers,
            f"Kafka's client cannot use its settings for {servers}: {why}",
            "Correct them below `kafka` in the configuration.",
        )
