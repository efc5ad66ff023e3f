"""Settings of clients of the secured broker, as they stand below `kafka:`."""

from collections.abc import Mapping
from pathlib import Path

from penstock.config.clients import reveal_feed_kafka
from penstock.model.spec import FeedSpec
from penstock.testing.secured_broker import LOGIN, MTLS, SecuredKafka

KAFKA = "org.apache.kafka.common.security"
QUICK = {"default.api.timeout.ms": "15000", "request.timeout.ms": "15000"}


def trusting(secured: SecuredKafka) -> dict[str, str]:
    """Trust in the authority of the broker."""
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(secured.ca.path)}


def by_tls(secured: SecuredKafka, listener: str) -> dict[str, str]:
    """TLS without a login."""
    servers = {"bootstrap.servers": secured.servers(listener)}
    return {**servers, "security.protocol": "SSL", **trusting(secured), **QUICK}


def by_certificate(secured: SecuredKafka, key: Path) -> dict[str, str]:
    """A client certificate."""
    own = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(key)}
    return {**by_tls(secured, MTLS), **own}


def by_login(secured: SecuredKafka, mechanism: str, jaas: str) -> dict[str, str]:
    """SASL over TLS, with the options of a login module."""
    login = {"sasl.mechanism": mechanism, "sasl.jaas.config": f"{KAFKA}.{jaas};"}
    return {**by_tls(secured, LOGIN), "security.protocol": "SASL_SSL", **login}


def by_password(secured: SecuredKafka, user: str, password: str) -> dict[str, str]:
    """SCRAM. The password may be a reference."""
    jaas = f'scram.ScramLoginModule required username="{user}" password="{password}"'
    return by_login(secured, "SCRAM-SHA-512", jaas)


def by_plain(secured: SecuredKafka, user: str, password: str) -> dict[str, str]:
    """The mechanism PLAIN."""
    jaas = f'plain.PlainLoginModule required username="{user}" password="{password}"'
    return by_login(secured, "PLAIN", jaas)


def by_token(secured: SecuredKafka, client: str, secret: str) -> dict[str, str]:
    """OAUTHBEARER. The secret may be a reference."""
    jaas = (
        f'oauthbearer.OAuthBearerLoginModule required clientId="{client}" clientSecret="{secret}"'
    )
    return {
        **by_login(secured, "OAUTHBEARER", jaas),
        "sasl.oauthbearer.token.endpoint.url": secured.tokens.url,
        "sasl.login.retry.backoff.max.ms": "200",
    }


def revealed(
    settings: Mapping[str, str], environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The settings as clients get them."""
    found = reveal_feed_kafka(settings, FeedSpec(name="x"), environ or {})
    return {key: value.reveal() for key, value in found.items()}
