"""Settings of Kafka, Spark, registry, store and sources: passed on unchanged, except refused ones.

A key that loads a class, runs a program or reads a URL would let the author of the file run code
in this process; a key that Penstock sets itself would break its proofs. Values are checked twice:
as written, and again after references to secrets were replaced.
"""

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

import msgspec

from penstock.config import units
from penstock.config.errors import ConfigInvalid
from penstock.config.jaas import jaas_complaint, jaas_has_literal_secret
from penstock.config.mistakes import Mistake, Mistakes, Place, Refused, closest
from penstock.config.secrets import (
    FORMS,
    Secret,
    has_reference,
    is_only_references,
    revealed,
    with_stand_ins,
    with_whole_paths,
)
from penstock.config.section_grammar import Reading, as_table
from penstock.config.tree import Node, Scalar
from penstock.model.spec import FeedSpec, RegistrySpec
from penstock.model.store_spec import StoreSpec

_KEY = re.compile(r"[A-Za-z][\w.-]{0,199}", re.ASCII)
_LONGEST_VALUE = 100_000
_SERVER = re.compile(r"(?:[A-Z_]+://)?[^\s,:/]+:\d{1,5}|(?:[A-Z_]+://)?\[[0-9a-fA-F:.%]+\]:\d{1,5}")
_URL = re.compile(r"https?://[^\s]+", re.IGNORECASE)
SERVERS = "bootstrap.servers"
_JAAS = "sasl.jaas.config"
_HOST_CHECK = "ssl.endpoint.identification.algorithm"
_FILE_KEY = re.compile(r"ssl\.(?:trust|key)store\.location")  # relative to the file, as all paths
_TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 -- the name of a setting
_LOGIN_HANDLER = "sasl.login.callback.handler.class"
# Kafka's own; the second is its name before Kafka 3.8.
_TOKEN_HANDLERS = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
)

_LOADS_CODE = frozenset({
    "interceptor.classes", "key.deserializer", "key.serializer", "metric.reporters",
    "partition.assignment.strategy", "sasl.kerberos.kinit.cmd", "security.providers",
    "value.deserializer", "value.serializer",
})  # fmt: skip
_OURS = frozenset({
    "auto.commit.interval.ms", "auto.offset.reset", "enable.auto.commit", "group.id",
    "group.instance.id", "group.protocol", "group.remote.assignor", "isolation.level",
})  # fmt: skip
_REGISTRY = "http://localhost:8081"
_LAST_PORT = 65_535
_REGISTRY_KEYS = ("url", "user", "password", "token", "ca", "timeout")
_SPARK_OURS = ("spark.sql.execution.arrow.",)
# Keys whose value is always a secret; similar to Spark's own redaction.
_SENSITIVE = re.compile(
    r"(?:password|secret|token|(?:access|secret)[._-]?key|keystore\.key)$", re.IGNORECASE
)


def kafka(node: Node, reading: Reading) -> dict[str, str]:
    """The settings of Kafka's client, references not yet replaced."""
    settings = _settings(node, reading, kafka_complaint)
    table = as_table(node)
    if SERVERS not in table.entries:
        meant = closest(SERVERS, table.entries)
        place = table.place.key(SERVERS)
        found = f"missing, and there is {meant!r}" if meant else "missing"
        reading.mistakes.add(place, found, "brokers such as localhost:9092")
    return settings


def feed_kafka(node: Node, reading: Reading) -> dict[str, str]:
    """The settings of Kafka's client that a feed has itself, over those of the file."""
    return _settings(node, reading, kafka_complaint)


def spark(node: Node, reading: Reading) -> dict[str, str]:
    """The settings of Spark, references not yet replaced."""
    return _settings(node, reading, spark_complaint)


def registry(node: Node, reading: Reading) -> dict[str, str]:
    """The settings of a schema registry, references not yet replaced."""
    settings = _settings(node, reading, registry_complaint)
    table = as_table(node)
    if table.entries and "url" not in table.entries:
        reading.mistakes.add(table.place.key("url"), "missing", "an address such as " + _REGISTRY)
    if "token" in settings and ("user" in settings or "password" in settings):
        found = "both `token` and `user`"
        reading.mistakes.add(table.entries["token"].place, found, "one of the two")
    return settings


def store(node: Node, reading: Reading) -> dict[str, str]:
    """The settings of the lake's store, references not yet replaced.

    The store decides which settings exist, and refuses others when it is opened.
    """
    return _settings(node, reading, lambda _key, _value: None)


def source_options(node: Node, reading: Reading) -> dict[str, str]:
    """The options of a source that is a plug-in, references not yet replaced."""
    return _settings(node, reading, lambda _key, _value: None)


def reveal_source(feed: FeedSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """The options of a feed's source with secrets in place; raises `ConfigInvalid`."""
    options = feed.source.options
    section = f"feeds.{feed.name}.source.options"
    found = _revealed(section, options, environ, lambda _key, _value: None)
    return {key: value.reveal() for key, value in found.items()}


def reveal_store(spec: StoreSpec, environ: Mapping[str, str], section: str = "store") -> StoreSpec:
    """The spec of a store with secrets in place; raises `ConfigInvalid`."""
    found = _revealed(section, spec.settings, environ, lambda _key, _value: None)
    settings = {key: value.reveal() for key, value in found.items()}
    return msgspec.structs.replace(spec, settings=settings)


def reveal_registry(settings: Mapping[str, str], environ: Mapping[str, str]) -> RegistrySpec | None:
    """The registry's settings with secrets in place; None when no registry is configured."""
    found = _revealed("registry", settings, environ, registry_complaint)
    words = {key: value.reveal() for key, value in found.items()}
    if not words:
        return None
    if words.get("ca"):
        _check_authorities(words["ca"])
    timeout_s = units.duration_s(words.pop("timeout", "10s")) or 10.0
    return RegistrySpec(**{**words, "url": words["url"].rstrip("/")}, timeout_s=timeout_s)


def _check_authorities(path: str) -> None:
    """Raise `ConfigInvalid` when a file of certificates cannot be used here."""
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:
        found = f"{path!r} cannot be used: {error.strerror or error}"
        place = Place("registry").key("ca")
        mistake = Mistake(place, found, "a readable file of certificates in PEM")
        raise ConfigInvalid("`registry`", (mistake,)) from error


def registry_complaint(key: str, value: str | None) -> Refused | None:
    """Why a setting of a registry is refused."""
    if key not in _REGISTRY_KEYS:
        allowed = " | ".join(_REGISTRY_KEYS)
        return Refused("unknown key", allowed, closest(key, _REGISTRY_KEYS))
    if value is None:
        return None
    if key == "url":
        return _address_complaint(value)
    if key == "token" and not (value.isascii() and value.isprintable()):
        return Refused("characters that a request cannot have", "a token on one line, in ASCII")
    if key == "user" and ":" in value:
        return Refused("a name with ':' in it", "a name without it; the password has its own key")
    if key == "timeout" and not units.duration_s(value):
        return Refused("not a time to wait", units.DURATION)
    return None


def _address_complaint(value: str) -> Refused | None:
    """Why an address of a registry is refused."""
    place = value.partition("://")[2].partition("/")[0]
    if "," in place:
        return Refused("several addresses", "one, such as " + _REGISTRY)
    if not _URL.fullmatch(value) or not _is_place(place):
        return Refused("not an address", _REGISTRY)
    if "@" in value:
        return Refused("a secret in plain text", "`user` and `password` beside the address")
    if "?" in value or "#" in value:
        return Refused("an address with more than a path", _REGISTRY)
    return None


def _is_place(place: str) -> bool:
    """Whether this is a host and a port; each may be the placeholder of a secret."""
    try:
        urlsplit(f"//{place.replace('[x]', '[::1]')}")
    except ValueError:
        return False
    port = place.rpartition(":")[2]
    return not port.isdecimal() or (len(port) <= 5 and int(port) <= _LAST_PORT)


def reveal_kafka(settings: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, Secret]:
    """Kafka's settings with secrets in place, checked again; raises `ConfigInvalid`."""
    return _revealed("kafka", settings, environ, kafka_complaint)


def reveal_feed_kafka(
    settings: Mapping[str, str], feed: FeedSpec, environ: Mapping[str, str]
) -> dict[str, Secret]:
    """The same for the clients of one feed: its own settings over those of the file.

    A secret of the file that the feed has replaced is not looked up.
    """
    inherited = {key: text for key, text in settings.items() if key not in feed.kafka}
    own = _revealed(f"feeds.{feed.name}.kafka", feed.kafka, environ, kafka_complaint)
    return _with_token_handler(reveal_kafka(inherited, environ) | own)


def _with_token_handler(settings: dict[str, Secret]) -> dict[str, Secret]:
    """With the class that fetches tokens, where there is an address to fetch them from.

    Kafka does not choose it itself, and a key that names a class is refused in the file.
    """
    mechanism = settings.get("sasl.mechanism")
    is_oauth = mechanism is not None and mechanism.reveal().strip().upper() == "OAUTHBEARER"
    if not is_oauth or _TOKEN_URL not in settings:
        return settings
    return {_LOGIN_HANDLER: Secret(_TOKEN_HANDLERS[0]), **settings}


def reveal_spark(settings: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, Secret]:
    """Spark's settings with secrets in place; raises `ConfigInvalid`."""
    return _revealed("spark", settings, environ, spark_complaint)


def kafka_complaint(key: str, value: str | None) -> Refused | None:
    """Why a setting of Kafka's client is refused. `value` None: only the key is checked."""
    name = key.lower()
    if name.startswith("kafka."):
        return Refused("a key with Spark's prefix", "Kafka's own keys", key[len("kafka.") :])
    if name == _LOGIN_HANDLER and (value is None or value.strip() in _TOKEN_HANDLERS):
        return None  # what Kafka's own documentation tells to set
    if name in _LOADS_CODE or name.endswith((".class", ".classes")):
        return Refused("this key loads code; leave it out")
    if name.startswith("config.providers"):
        return Refused("this key loads code; leave it out", f"for secrets {FORMS}")
    if name in _OURS:
        return Refused("Penstock sets this key itself; leave it out")
    if value is None:
        return None
    return next(_value_complaints(name, value), None)


def _value_complaints(name: str, value: str) -> Iterator[Refused]:
    """What is wrong with the value of an allowed key. The value itself is never repeated."""
    if name == SERVERS and not all(map(_SERVER.fullmatch, map(str.strip, value.split(",")))):
        yield Refused("not a list of brokers", "host:port, several with commas between")
    if name == _HOST_CHECK and value.strip().lower() != "https":
        yield Refused("the broker's host name would not be checked", "https, or nothing")
    if name.endswith("endpoint.url") and not _URL.fullmatch(value):
        yield Refused("a URL that is not http", "an address that starts with https://")
    if name.endswith(_JAAS):
        complaint = jaas_complaint(value)
        if complaint is not None:
            yield complaint


def spark_complaint(key: str, _: str | None) -> Refused | None:
    """Why a setting of Spark is refused."""
    if not key.startswith("spark."):
        return Refused("a key that is not Spark's", "keys that start with 'spark.'")
    if key.startswith(_SPARK_OURS):
        return Refused("Penstock sets this key itself; leave it out")
    return None


def _settings(
    node: Node, reading: Reading, complaint: Callable[[str, str | None], Refused | None]
) -> dict[str, str]:
    """Read a mapping of settings; refused ones are recorded and left out."""
    found: dict[str, str] = {}
    for key, child in as_table(node).entries.items():
        try:
            found[key] = _value(key, child, reading, complaint)
        except Refused as refused:
            reading.mistakes.refuse(child.place, refused)
    return found


def _value(
    key: str,
    child: Node,
    reading: Reading,
    complaint: Callable[[str, str | None], Refused | None],
) -> str:
    if not _KEY.fullmatch(key):
        raise Refused("not a key", "letters, digits, '.', '_' and '-'")
    if not isinstance(child, Scalar) or child.is_null or len(child.text) > _LONGEST_VALUE:
        raise Refused("not one value", "one text, number or boolean; lists with commas")
    text = with_whole_paths(child.text, reading.folder_of(child))
    if _FILE_KEY.fullmatch(key.lower()) and text and not has_reference(text):
        text = str(reading.folder_of(child) / text)
    known = None if is_only_references(text) else with_stand_ins(text)
    refused = complaint(key, known)
    if refused is not None:
        raise refused
    if _is_literal_secret(key, text):
        raise Refused("a secret in plain text", f"only {FORMS}")
    return text


def _is_literal_secret(key: str, text: str) -> bool:
    if key.lower().endswith(_JAAS):
        return not is_only_references(text) and jaas_has_literal_secret(text)
    return bool(_SENSITIVE.search(key)) and not is_only_references(text)


def _revealed(
    section: str,
    settings: Mapping[str, str],
    environ: Mapping[str, str],
    complaint: Callable[[str, str | None], Refused | None],
) -> dict[str, Secret]:
    """Replace references, collect missing secrets, and check every value that had a reference."""
    mistakes = Mistakes(f"`{section}`")
    found: dict[str, Secret] = {}
    for key, text in settings.items():
        try:
            quotes = key.lower().endswith(_JAAS) and not is_only_references(text)
            found[key] = revealed(text, environ, escape=quotes)
            refused = complaint(key, found[key].reveal()) if has_reference(text) else None
            if refused is not None:
                raise refused
        except Refused as refused:
            mistakes.refuse(Place(section).key(key), refused)
    if mistakes.all():
        raise ConfigInvalid(mistakes.source, mistakes.all())
    return found
