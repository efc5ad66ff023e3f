"""Which error a failure of Kafka's client is, from the texts of its causes. Pure.

The causes come from Java's exceptions, or as lines of a failed Spark job. Both name classes and
messages in the same way, so both are read by the same table.
"""

import re
from collections.abc import Mapping, Sequence

from penstock.ports.source.errors import (
    BrokerCertificateWrong,
    ClientCertificateRefused,
    ClientSettingsWrong,
    KafkaRefused,
    LoginRefused,
    NotAuthorized,
    ProtocolWrong,
    TokenNotGiven,
)

SERVERS = "bootstrap.servers"
PROTOCOL = "security.protocol"
TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 -- the name of a setting
LOGINS = ("SASL_PLAINTEXT", "SASL_SSL")

_HOST = re.compile(r"No (?:subject alternative|name matching)")
_EXPIRED = re.compile(r"CertificateExpiredException|CertificateNotYetValidException")
_UNTRUSTED = re.compile(r"PKIX path|trustAnchors|No trusted certificate|CertPathValidatorException")
_CERTIFICATE_ALERT = re.compile(
    r"fatal alert: (?:bad_certificate|certificate_\w+|unknown_ca|no_certificate\w*)"
)
_NOT_TLS = re.compile(r"(?:Unrecognized|Unsupported or unrecognized) SSL message", re.IGNORECASE)
_TLS = re.compile(r"SslAuthenticationException|SSLHandshakeException")
_TOPIC = re.compile(r"TopicAuthorizationException")
_GROUP = re.compile(r"GroupAuthorizationException")
_LISTED_TOPICS = re.compile(r"topics: \[([^\]]+)\]")
_PARTITION = re.compile(r"partition ([\w.-]+)-\d+", re.ASCII)
_GROUP_NAME = re.compile(r"idValue='([^']+)'|access group: (\S+)")
_NO_LOGIN = re.compile(r"IllegalSaslStateException")
_LOGIN = re.compile(r"SaslAuthenticationException|UnsupportedSaslMechanismException")
_TOKEN = re.compile(r"javax\.security\.auth\.login\.LoginException|token endpoint|retrieving token")
_SETTINGS = re.compile(
    r"InvalidConfigurationException|ConfigException|Failed to load|JAAS configuration"
)
_NO_ADDRESS = re.compile(r"No resolvable bootstrap urls")  # the network's matter: it may pass
_NOT_LOADED = re.compile(r"Failed to load[^\n]*")
_STATUS = re.compile(r"The response code \d+[^;\n]*")


def refusal_of(causes: Sequence[str], options: Mapping[str, str]) -> KafkaRefused | None:
    """The error of these causes, the outermost first; None: it has nothing to do with security.

    Each cause is a text such as `javax.net.ssl.SSLHandshakeException: what was wrong`.
    """
    text = "\n".join(causes)
    servers = options.get(SERVERS, "")
    why = said(causes[-1]) if causes else ""
    if _TOPIC.search(text):
        return NotAuthorized(servers, "topic", _topics(text))
    if _GROUP.search(text):
        return NotAuthorized(servers, "group", _groups(text), "use")
    return _of_tls(text, why, options) or _of_login(text, why, options)


def _of_tls(text: str, why: str, options: Mapping[str, str]) -> KafkaRefused | None:
    servers = options.get(SERVERS, "")
    if _HOST.search(text):
        advice = (
            "Use a name in `bootstrap.servers` that the certificate has, or give the broker a "
            "certificate for this name. The name is always checked."
        )
        return BrokerCertificateWrong(servers, "is for another host", advice, why)
    if _EXPIRED.search(text):
        advice = "Give the broker a new certificate, or correct the clock of this machine."
        return BrokerCertificateWrong(servers, "is not valid at this time", advice, why)
    if _UNTRUSTED.search(text):
        advice = (
            "If it is the right broker, set `ssl.truststore.type: PEM` and "
            "`ssl.truststore.location` to the file of its certificate authority."
        )
        return BrokerCertificateWrong(servers, "is signed by nobody whom we trust", advice, why)
    if _CERTIFICATE_ALERT.search(text):
        has_one = any(key.startswith("ssl.keystore.") for key in options)
        return ClientCertificateRefused(servers, has_one=has_one, why=why)
    if _NOT_TLS.search(text):
        return ProtocolWrong(servers, _protocol(options), "does not speak TLS")
    if _TLS.search(text):
        advice = "Check `ssl.protocol`, `ssl.enabled.protocols` and `ssl.cipher.suites`."
        return BrokerCertificateWrong(servers, "could not be checked", advice, why)
    return None


def _of_login(text: str, why: str, options: Mapping[str, str]) -> KafkaRefused | None:
    servers = options.get(SERVERS, "")
    if _NO_LOGIN.search(text):
        return ProtocolWrong(servers, _protocol(options), "knows no login on this port", why)
    if _LOGIN.search(text):
        return LoginRefused(servers, options.get("sasl.mechanism", "GSSAPI"), why)
    if _TOKEN.search(text) and options.get("sasl.mechanism", "").upper() == "OAUTHBEARER":
        status = _STATUS.search(text)
        return TokenNotGiven(servers, options.get(TOKEN_URL, ""), status[0] if status else why)
    if _SETTINGS.search(text) and not _NO_ADDRESS.search(text):
        return ClientSettingsWrong(servers, _setting(text) or why)
    return None


def said(cause: str) -> str:
    """A cause in one line, without the package of its class and without a full stop."""
    line = (cause.splitlines() or [""])[0].strip().rstrip(".")
    name, colon, message = line.partition(": ")
    if not re.fullmatch(r"[\w.$]+", name, re.ASCII):
        return line
    return f"{name.rpartition('.')[2]}{colon}{message}"


def _protocol(options: Mapping[str, str]) -> str:
    return options.get(PROTOCOL, "PLAINTEXT")


def _topics(text: str) -> list[str]:
    listed = [name.strip() for found in _LISTED_TOPICS.findall(text) for name in found.split(",")]
    return sorted({*listed, *_PARTITION.findall(text)})


def _groups(text: str) -> list[str]:
    return sorted({one or other for one, other in _GROUP_NAME.findall(text)})


def _setting(text: str) -> str:
    """The part that names the file, and why it cannot be used; empty if there is none."""
    named = _NOT_LOADED.search(text)
    if named is None:
        return ""
    inner = said(text.splitlines()[-1])
    return named[0] if inner.endswith(named[0]) else f"{named[0]}: {inner}"
