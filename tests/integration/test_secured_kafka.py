"""A secured Kafka: every way to log in, every refusal by its name, and recovery when it is mended.

Without Spark: the source looks through Kafka's client in a small JVM, as a running feed does.
"""

import re
import shlex
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j import java_gateway  # type: ignore[import-untyped]
from py4j.protocol import get_return_value  # type: ignore[import-untyped]

from penstock.api.source import SourceTools
from penstock.config import places
from penstock.config.clients import reveal_feed_kafka
from penstock.config.load import load
from penstock.model.spec import FeedSpec
from penstock.ports.source.errors import (
    BrokerCertificateWrong,
    ClientCertificateRefused,
    ClientSettingsWrong,
    KafkaRefused,
    KafkaUnavailable,
    LoginRefused,
    NotAuthorized,
    ProtocolWrong,
    TokenNotGiven,
)
from penstock.ports.source.kafka.admin import KafkaAdmin
from penstock.ports.source.kafka.kafka_source import KafkaSource
from penstock.spark.gateway import JvmSpec, kafka_java_options, kafka_jvm
from penstock.spark.jars import CONNECTOR, jar_paths
from penstock.spark.java import Java
from penstock.testing.kafka_client import KafkaClient
from penstock.testing.kafka_users import KafkaUsers, Right
from penstock.testing.secured_broker import (
    EXPIRED,
    LOGIN,
    MTLS,
    PLAIN_PASSWORD,
    PLAIN_USER,
    STRANGER,
    TLS,
    WRONG_HOST,
    SecuredKafka,
)
from tests.integration.secured_clients import (
    by_certificate,
    by_password,
    by_plain,
    by_tls,
    by_token,
    revealed,
)

pytestmark = pytest.mark.xdist_group("kafka")

TOPIC, HIDDEN_TOPIC, SEEN_ONLY = "orders", "orders-hidden", "orders-seen-only"
PASSWORD = "Canary-scram-1"
SECRET = "Canary-client-1"
READERS = ("reader", "reader-token", "reader-cert", PLAIN_USER)
TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"
NO_SERVER = "http://127.0.0.1:1/token"
WAIT_S = 20.0


@pytest.fixture(scope="module")
def users(secured: SecuredKafka) -> KafkaUsers:
    return KafkaUsers(secured.kafka.bootstrap)


@pytest.fixture(scope="module")
def topics(secured: SecuredKafka, users: KafkaUsers) -> KafkaClient:
    """Topics with a few records, and readers with the rights of least privilege."""
    client = KafkaClient(secured.kafka.bootstrap)
    for name in (TOPIC, HIDDEN_TOPIC, SEEN_ONLY):
        client.create_topic(name)
    client.produce(TOPIC, 0, [b"{}"] * 5)
    users.set_password("reader", PASSWORD)
    secured.tokens.clients["reader-token"] = SECRET
    secured.ca.sign("reader-cert")
    for user in READERS:
        users.allow(user, Right.on_topic(TOPIC, "READ", "DESCRIBE"))
        users.allow(user, Right.on_topic(SEEN_ONLY, "DESCRIBE"))
    return client


@pytest.fixture(scope="module")
def jvm(java: Java, secured: SecuredKafka) -> Iterator[Any]:
    """One gateway for these tests; see the same fixture of test_admin.py."""
    of_spark = java_gateway.get_return_value
    java_gateway.get_return_value = get_return_value
    addresses = [{TOKEN_URL: url} for url in (secured.tokens.url, NO_SERVER)]
    options = kafka_java_options(*addresses)
    jars = jar_paths(CONNECTOR, places.jar_cache())
    with kafka_jvm(JvmSpec(java.path, jars, options=options)) as found:
        yield found
    java_gateway.get_return_value = of_spark


def feed(*names: str) -> FeedSpec:
    return FeedSpec(name="events", topics=names or (TOPIC,))


def source(
    jvm: Any, options: Callable[[], dict[str, str]], *names: str, said: list[str] | None = None
) -> KafkaSource:
    """The source of a running feed, whose options may change meanwhile."""
    told = [] if said is None else said
    session = SimpleNamespace(_jvm=jvm)
    return KafkaSource(feed(*names), SourceTools(lambda: session, options(), told.append, options))


def eventually(look: Callable[[], Any], wanted: type[BaseException] | None = None) -> Any:
    """Rights reach a broker a moment after they were given: look until it is so."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            found = look()
        except KafkaUnavailable as error:
            if wanted is not None and isinstance(error, wanted):
                return error
            if time.monotonic() > deadline:
                raise
        else:
            if wanted is None:
                return found
        assert time.monotonic() < deadline, f"{wanted} did not come"
        time.sleep(0.05)


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline, "it did not become so"
        time.sleep(0.05)


def records(source: KafkaSource) -> int:
    (topic,) = source.look().topics
    return topic.partitions[0].latest


def ways(secured: SecuredKafka) -> dict[str, dict[str, str]]:
    return {
        "TLS": by_tls(secured, TLS),
        "mTLS": by_certificate(secured, secured.ca.path_of("reader-cert")),
        "PLAIN": by_plain(secured, PLAIN_USER, PLAIN_PASSWORD),
        "SCRAM": by_password(secured, "reader", PASSWORD),
        "OAUTHBEARER": by_token(secured, "reader-token", SECRET),
    }


@pytest.mark.parametrize("way", ["TLS", "mTLS", "PLAIN", "SCRAM", "OAUTHBEARER"])
def test_topics_are_seen_with_read_and_describe_alone(
    way: str, jvm: Any, secured: SecuredKafka, topics: KafkaClient
) -> None:
    options = revealed(ways(secured)[way])
    looking = source(jvm, lambda: options)
    try:
        assert eventually(partial(records, looking)) == 5
        assert looking.retention_s([TOPIC]) == ({TOPIC: 604_800.0} if way == "TLS" else {})
    finally:
        looking.close()


def refusals(secured: SecuredKafka) -> dict[str, tuple[dict[str, str], type[KafkaRefused], str]]:
    tls = partial(by_tls, secured)
    stranger = secured.ca.path.with_name("stranger.pem")
    plain = {"bootstrap.servers": secured.kafka.bootstrap}
    scram = partial(by_password, secured, "reader")
    no_protocol = {"bootstrap.servers": secured.servers(TLS)}
    token = by_token(secured, "reader-token", SECRET)
    no_address = {key: value for key, value in token.items() if key != TOKEN_URL}
    return {
        "wrong host": (tls(WRONG_HOST), BrokerCertificateWrong, "another host"),
        "expired": (tls(EXPIRED), BrokerCertificateWrong, "not valid at this time"),
        "unknown authority": (tls(STRANGER), BrokerCertificateWrong, "nobody whom we trust"),
        "no client certificate": (tls(MTLS), ClientCertificateRefused, "wants a client"),
        "strange client certificate": (
            by_certificate(secured, stranger), ClientCertificateRefused, "refused our client",
        ),
        "wrong password": (scram("Wrong-canary-1"), LoginRefused, "SCRAM-SHA-512"),
        "wrong plain password": (
            by_plain(secured, PLAIN_USER, "Wrong-canary-1"), LoginRefused, "Invalid username",
        ),
        "unknown mechanism": (
            {**scram(PASSWORD), "sasl.mechanism": "SCRAM-SHA-256"}, LoginRefused, "not enabled",
        ),
        "wrong client secret": (
            by_token(secured, "reader-token", "Wrong-canary-1"), TokenNotGiven, "401",
        ),
        "no token server": ({**token, TOKEN_URL: NO_SERVER}, TokenNotGiven, NO_SERVER),
        "no token address": (no_address, TokenNotGiven, "Set `sasl"),
        "plain to TLS": (no_protocol, ProtocolWrong, "speaks TLS, and"),
        "plain login to TLS": (
            {**scram(PASSWORD), "security.protocol": "SASL_PLAINTEXT"}, ProtocolWrong, "speaks TLS",
        ),
        "TLS to plain": ({**tls(TLS), **plain}, ProtocolWrong, "does not speak TLS"),
        "login to plain TLS": (
            {**scram(PASSWORD), **no_protocol}, ProtocolWrong, "knows no login",
        ),
        "no login to a port with one": (tls(LOGIN), ProtocolWrong, "wants a login"),
        "no file": (
            {**tls(TLS), "ssl.truststore.location": "/no.pem"}, ClientSettingsWrong, "/no.pem",
        ),
        "not a certificate": (
            {**tls(TLS), "ssl.truststore.location": "/etc/passwd"}, ClientSettingsWrong, "PEM",
        ),
    }  # fmt: skip


CASES = (
    "wrong host", "expired", "unknown authority", "no client certificate",
    "strange client certificate", "wrong password", "wrong plain password", "unknown mechanism",
    "wrong client secret", "no token server", "no token address", "plain to TLS",
    "plain login to TLS", "TLS to plain", "login to plain TLS", "no login to a port with one",
    "no file", "not a certificate",
)  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_refusal_has_its_name_and_says_what_to_do(
    case: str, jvm: Any, secured: SecuredKafka, topics: KafkaClient
) -> None:
    settings, kind, words = refusals(secured)[case]
    options = revealed(settings)
    looking = source(jvm, lambda: options)
    with pytest.raises(kind, match=kind.code) as caught:
        looking.look()
    sentence = str(caught.value)
    assert words in sentence
    assert options["bootstrap.servers"] in sentence
    assert not [line for line in ("\n", "\tat ", "canary", SECRET, PASSWORD) if line in sentence]
    assert caught.value.exit_code == 1


def test_every_refusal_is_tried(secured: SecuredKafka) -> None:
    assert set(refusals(secured)) == set(CASES)


def test_a_password_that_was_rotated_is_read_again_from_its_file(
    jvm: Any, secured: SecuredKafka, users: KafkaUsers, topics: KafkaClient, tmp_path: Path
) -> None:
    """K19. Goal: no restart. Method: rotate at the broker first, then in the file."""
    file = tmp_path / "password"
    file.write_text("Canary-old-1\n")
    users.set_password("rotated", "Canary-old-1")
    users.allow("rotated", Right.on_topic(TOPIC, "READ", "DESCRIBE"))
    said: list[str] = []
    settings = by_password(secured, "rotated", f"${{file:{file}}}")
    looking = source(jvm, partial(revealed, settings), said=said)
    try:
        assert eventually(partial(records, looking)) == 5
        users.set_password("rotated", "Canary-new-2")
        looking.close()  # connections that have logged in stay; a new one has to
        refused = eventually(looking.look, LoginRefused)
        assert "${file:...}" in str(refused)
        assert "Canary" not in str(refused)
        file.unlink()
        with pytest.raises(LoginRefused):
            looking.look()
        with pytest.raises(LoginRefused):
            looking.look()
        assert len(said) == 1, "a missing secret is told once"
        assert str(file) in said[0]
        file.write_text("Canary-new-2\n")
        assert eventually(partial(records, looking)) == 5
    finally:
        looking.close()


def test_a_client_certificate_that_was_renewed_is_used_without_a_restart(
    jvm: Any, secured: SecuredKafka, users: KafkaUsers, topics: KafkaClient
) -> None:
    users.allow("renewed", Right.on_topic(TOPIC, "READ", "DESCRIBE"))
    key = secured.ca.sign("renewed", valid=timedelta(days=-1))
    options = revealed(by_certificate(secured, key))
    looking = source(jvm, lambda: options)
    try:
        with pytest.raises(ClientCertificateRefused, match="has not expired"):
            looking.look()
        secured.ca.sign("renewed")
        assert eventually(partial(records, looking)) == 5
    finally:
        looking.close()


def test_tokens_are_refreshed_before_they_expire_and_fetched_again_after_a_failure(
    jvm: Any, secured: SecuredKafka, users: KafkaUsers, topics: KafkaClient
) -> None:
    """Method: tokens of three seconds, and a broker that ends connections with expired ones."""
    users.allow("short", Right.on_topic(TOPIC, "READ", "DESCRIBE"))
    secured.tokens.clients["short"] = SECRET
    limits = {"default.api.timeout.ms": "3000", "request.timeout.ms": "3000"}
    options = revealed({**by_token(secured, "short", SECRET), **limits})
    secured.tokens.lifetime_s = 3.0
    looking = source(jvm, lambda: options)
    try:
        assert eventually(partial(records, looking)) == 5
        until = time.monotonic() + 7.0
        while time.monotonic() < until:
            assert records(looking) == 5
            time.sleep(0.2)
        assert secured.tokens.given["short"] >= 3
        del secured.tokens.clients["short"]
        # The client of before only knows that its token has expired; the next one is refused.
        assert "401" in str(eventually(looking.look, TokenNotGiven))
        secured.tokens.clients["short"] = SECRET
        assert eventually(partial(records, looking)) == 5
    finally:
        secured.tokens.lifetime_s = 3600.0
        looking.close()


def test_a_right_that_was_revoked_is_told_apart_from_a_topic_that_is_gone(
    jvm: Any, secured: SecuredKafka, users: KafkaUsers, topics: KafkaClient
) -> None:
    users.set_password("revoked", PASSWORD)
    rights = Right.on_topic(TOPIC, "READ", "DESCRIBE")
    users.allow("revoked", [*rights, *Right.on_topic("orders-gone", "DESCRIBE")])
    options = revealed(by_password(secured, "revoked", PASSWORD))
    looking = source(jvm, lambda: options)
    try:
        assert eventually(partial(records, looking)) == 5
        looking.check_absent(["orders-gone"])
        with pytest.raises(NotAuthorized, match="may not see the topic 'orders-hidden'"):
            looking.check_absent([HIDDEN_TOPIC])
        users.revoke("revoked", rights)
        until(lambda: not looking.look().topics)
        with pytest.raises(NotAuthorized, match=r"'orders'.*Read and Describe"):
            looking.check_absent([TOPIC])
        users.allow("revoked", rights)
        until(lambda: bool(looking.look().topics))
        assert records(looking) == 5
    finally:
        looking.close()


def test_what_a_check_asks_about_rights(
    jvm: Any, secured: SecuredKafka, users: KafkaUsers, topics: KafkaClient
) -> None:
    """Goal: the missing right is named before a run misses it, also the one for lag."""
    admin = KafkaAdmin(jvm, revealed(by_password(secured, "reader", PASSWORD)))
    try:
        admin.rights.check_reading([TOPIC])
        with pytest.raises(NotAuthorized, match="may not read the topic 'orders-seen-only'"):
            admin.rights.check_reading([TOPIC, SEEN_ONLY])
        group = "penstock-events"
        for act in (
            partial(admin.rights.check_group, group),
            partial(admin.commit_group, group, {(TOPIC, 0): 5}),
        ):
            with pytest.raises(NotAuthorized, match="may not use the group"):
                act()
        users.allow("reader", Right.on_group(group, "DESCRIBE"))
        eventually(partial(admin.group_offsets, group))
        with pytest.raises(NotAuthorized, match="penstock-events"):
            admin.rights.check_group(group)
        users.allow("reader", Right.on_group(group, "READ"))
        eventually(partial(admin.rights.check_group, group))
        eventually(partial(admin.commit_group, group, {(TOPIC, 0): 5}))
        assert topics.group_offsets(group, TOPIC) == {0: 5}
    finally:
        admin.close()


PAGE = (Path(__file__).parents[2] / "docs" / "kafka.md").read_text(encoding="utf-8")
BLOCKS = {
    "TLS": TLS,
    "Client certificates (mTLS)": MTLS,
    "Certificates on a cluster": MTLS,
    "User and password": LOGIN,
    "OAuth tokens": LOGIN,
}


def block(heading: str, kind: str = "yaml") -> str:
    found, *_ = re.findall(
        rf"^```{kind}\n(.*?)^```$",
        PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0],
        flags=re.MULTILINE | re.DOTALL,
    )
    return str(found)


def rights_of_the_page(user: str) -> Iterator[tuple[str, list[Right]]]:
    """What the commands of the page give, for another user."""
    for command in re.findall(r"^kafka-acls ((?:.*\\\n)*.*)$", PAGE, re.MULTILINE):
        words = shlex.split(command.replace("\\\n", " "))
        assert words[words.index("--allow-principal") + 1] == "User:penstock"
        kind = "topic" if "--topic" in words else "group"
        name = words[words.index(f"--{kind}") + 1]
        acts = [words[at + 1] for at, word in enumerate(words) if word == "--operation"]
        yield user, [Right(kind, name, act.upper()) for act in acts]


@pytest.fixture(scope="module")
def page_users(
    secured: SecuredKafka, users: KafkaUsers, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The user `penstock` in each of the ways of the page, and the files that it names."""
    place = tmp_path_factory.mktemp("etc")
    users.set_password("penstock", PASSWORD)
    secured.tokens.clients["penstock"] = SECRET
    (place / "ca.pem").write_bytes(secured.ca.path.read_bytes())
    both = secured.ca.sign("penstock").read_text()
    key, end, certificate = both.partition("-----END PRIVATE KEY-----\n")
    for name, text in {"penstock": both, "key": key + end, "certificate": certificate}.items():
        (place / f"{name}.pem").write_text(text)
    (place / "kafka-password").write_text(f"{PASSWORD}\n")
    granted = list(rights_of_the_page("penstock"))
    assert len(granted) == 2
    for user, rights in granted:
        users.allow(user, rights)
    return place


def as_here(text: str, secured: SecuredKafka, etc: Path) -> str:
    """A block with the addresses and files of this test."""
    ports = {"9093": TLS, "9094": MTLS, "9095": LOGIN}
    for port, listener in ports.items():
        text = text.replace(f"kafka1.example:{port}", secured.servers(listener))
    text = text.replace("https://login.example/token", secured.tokens.url)
    return text.replace("/etc/penstock", str(etc))


@pytest.mark.parametrize("heading", BLOCKS)
def test_the_blocks_of_the_page_work_as_they_stand(
    heading: str, jvm: Any, secured: SecuredKafka, topics: KafkaClient, page_users: Path
) -> None:
    text = as_here(block(heading), secured, page_users)
    head = "version: 1\nlake: ./lake\nfeeds: {orders: {topics: [orders]}}\n"
    (page_users / "penstock.yaml").write_text(head + text)
    spec = load(page_users / "penstock.yaml", {})
    assert spec.kafka["bootstrap.servers"] == secured.servers(BLOCKS[heading])
    admin = KafkaAdmin(jvm, revealed(spec.kafka, {"KAFKA_CLIENT_SECRET": SECRET}))
    try:
        (found,) = eventually(partial(admin.available, spec.feeds[0])).topics
        assert found.partitions[0].latest == 5
        admin.rights.check_reading([TOPIC])
        admin.rights.check_group("penstock-orders")
    finally:
        admin.close()


def test_feeds_of_the_page_have_their_own_logins(
    jvm: Any, secured: SecuredKafka, topics: KafkaClient, page_users: Path
) -> None:
    text = as_here(block("A feed with its own login"), secured, page_users)
    (page_users / "penstock.yaml").write_text(text)
    spec = load(page_users / "penstock.yaml", {})
    seen = {}
    for each in spec.feeds:
        found = reveal_feed_kafka(spec.kafka, each, {})
        admin = KafkaAdmin(jvm, {key: value.reveal() for key, value in found.items()})
        try:
            seen[each.name] = eventually(partial(admin.available, each)).topics[0].topic
        finally:
            admin.close()
    assert seen == {"orders": TOPIC, "orders_west": TOPIC}


def test_the_page_explains_every_refusal() -> None:
    named = {kind.code for kind in KafkaRefused.__subclasses__()}
    assert len(named) == 7
    assert named <= set(re.findall(r"\[(KAFKA_\w+)\]\(errors", PAGE))
