"""Each refusal of a secured Kafka has an error of its own, whoever reports it: Java, or a job."""

import pytest

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
from penstock.ports.source.kafka.hidden_values import HIDDEN, hidden, secrets_in
from penstock.ports.source.kafka.refusals import refusal_of, said
from penstock.spark.job_errors import java_causes

ERRORS = "org.apache.kafka.common.errors"
TLS_FAILED = f"{ERRORS}.SslAuthenticationException: SSL handshake failed"
PKIX = "javax.net.ssl.SSLHandshakeException: PKIX path"
OPTIONS = {"bootstrap.servers": "k:9093", "security.protocol": "SASL_SSL"}
OAUTH = {
    **OPTIONS,
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "https://id/token",
}
LOGIN_FAILED = "javax.security.auth.login.LoginException"


@pytest.mark.parametrize(
    ("causes", "options", "kind", "words"),
    [
        (
            [TLS_FAILED, "java.security.cert.CertificateException: No subject alternative names x"],
            OPTIONS,
            BrokerCertificateWrong,
            ("another host", "bootstrap.servers"),
        ),
        (
            [TLS_FAILED, "java.security.cert.CertificateException: No name matching k found"],
            OPTIONS,
            BrokerCertificateWrong,
            ("another host",),
        ),
        (
            [
                TLS_FAILED,
                f"{PKIX} validation failed: java.security.cert.CertPathValidatorException: x",
                "java.security.cert.CertificateExpiredException: NotAfter: Tue Nov 17",
            ],
            OPTIONS,
            BrokerCertificateWrong,
            ("not valid at this time", "NotAfter: Tue Nov 17", "clock"),
        ),
        (
            [TLS_FAILED, f"{PKIX} building failed: unable to find valid certification path"],
            OPTIONS,
            BrokerCertificateWrong,
            ("nobody whom we trust", "ssl.truststore.location"),
        ),
        (
            ["javax.net.ssl.SSLHandshakeException: Received fatal alert: bad_certificate"],
            OPTIONS,
            ClientCertificateRefused,
            ("wants a client certificate", "ssl.keystore.location"),
        ),
        (
            ["javax.net.ssl.SSLHandshakeException: Received fatal alert: certificate_required"],
            {**OPTIONS, "ssl.keystore.location": "/k.pem"},
            ClientCertificateRefused,
            ("refused our client certificate", "expired"),
        ),
        (
            ["javax.net.ssl.SSLException: Unsupported or unrecognized SSL message"],
            OPTIONS,
            ProtocolWrong,
            ("does not speak TLS", "`security.protocol` is SASL_SSL"),
        ),
        (
            ["javax.net.ssl.SSLHandshakeException: Received fatal alert: handshake_failure"],
            OPTIONS,
            BrokerCertificateWrong,
            ("could not be checked", "ssl.cipher.suites"),
        ),
        (
            [f"{ERRORS}.SaslAuthenticationException: Authentication failed: Invalid username"],
            {**OPTIONS, "sasl.mechanism": "PLAIN"},
            LoginRefused,
            ("refused our login by PLAIN", "Invalid username"),
        ),
        (
            [f"{ERRORS}.UnsupportedSaslMechanismException: Client SASL mechanism 'X' not enabled"],
            {**OPTIONS, "sasl.mechanism": "X"},
            LoginRefused,
            ("sasl.mechanism", "not enabled"),
        ),
        (
            [f"{ERRORS}.IllegalSaslStateException: Unexpected handshake request"],
            OPTIONS,
            ProtocolWrong,
            ("knows no login",),
        ),
        (
            [
                f"{LOGIN_FAILED}: java.io.IOException: The response code 401 and error response"
                ' {"invalid_client" - } was encountered reading the token endpoint response; will'
                " not\n\tat org.apache.kafka.Foo",
                f"{LOGIN_FAILED}: java.io.IOException",
            ],
            OAUTH,
            TokenNotGiven,
            ("https://id/token", "The response code 401", "clientSecret"),
        ),
        (
            [f"{LOGIN_FAILED}: An internal error occurred while retrieving token"],
            {"bootstrap.servers": "k:1", "sasl.mechanism": "OAUTHBEARER"},
            TokenNotGiven,
            ("Set `sasl.oauthbearer.token.endpoint.url`",),
        ),
        (
            [f"{ERRORS}.TopicAuthorizationException: Not authorized to access topics: [b, a]"],
            OPTIONS,
            NotAuthorized,
            ("may not read the topics 'a', 'b'", "Read and Describe"),
        ),
        (
            [
                f"{ERRORS}.TopicAuthorizationException: Failed to fetch metadata for partition "
                "big.orders-1-12 due to topic authorization failure"
            ],
            OPTIONS,
            NotAuthorized,
            ("the topic 'big.orders-1'",),
        ),
        (
            [
                f"{ERRORS}.GroupAuthorizationException: FindCoordinator request for groupId "
                "`CoordinatorKey(idValue='penstock-a', type=GROUP)` failed"
            ],
            OPTIONS,
            NotAuthorized,
            ("may not use the group 'penstock-a'", "Give it Read on the group"),
        ),
        (
            [
                "org.apache.kafka.common.KafkaException: Failed to create new KafkaAdminClient",
                f"org.apache.kafka.common.KafkaException: {ERRORS}.InvalidConfigurationException: "
                "Failed to load PEM SSL keystore /no.pem",
                f"{ERRORS}.InvalidConfigurationException: Failed to load PEM SSL keystore /no.pem",
                "java.io.IOException: Unable to read file /no.pem",
                "java.nio.file.NoSuchFileException: /no.pem",
            ],
            OPTIONS,
            ClientSettingsWrong,
            ("k:9093: Failed to load PEM SSL keystore /no.pem: NoSuchFileException: /no.pem",),
        ),
        (
            ["java.lang.IllegalArgumentException: Could not find 'x' in the JAAS configuration"],
            OPTIONS,
            ClientSettingsWrong,
            ("JAAS configuration", "below `kafka`"),
        ),
    ],
)
def test_a_refusal_has_its_code_and_says_what_to_do(
    causes: list[str], options: dict[str, str], kind: type[KafkaRefused], words: tuple[str, ...]
) -> None:
    refused = refusal_of(causes, options)
    assert type(refused) is kind
    assert str(refused).startswith(f"{kind.code}: ")
    assert [
        word for word in (*words, options["bootstrap.servers"]) if word not in str(refused)
    ] == []
    assert "\n" not in str(refused)
    assert "\tat " not in str(refused)


@pytest.mark.parametrize(
    "causes",
    [
        [],
        [f"{ERRORS}.TimeoutException: Timed out"],
        ["java.io.IOException: No space left"],
        [
            "org.apache.kafka.common.KafkaException: Failed to create new KafkaAdminClient",
            "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given in "
            "bootstrap.servers",
        ],
    ],
)
def test_what_is_no_refusal_is_left_to_others(causes: list[str]) -> None:
    assert refusal_of(causes, OPTIONS) is None


def test_the_causes_of_a_failed_job_are_those_of_its_text() -> None:
    text = (
        "An error occurred while calling o77.collectToPython.\n"
        ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 failed\n"
        "\tat org.apache.spark.Foo(Foo.scala:1)\n"
        f"Caused by: {TLS_FAILED}\n"
        "\tat java.base/Thread.run(Thread.java:1)\n"
        "Caused by: java.security.cert.CertificateExpiredException: NotAfter: x\n"
    )
    causes = java_causes(ValueError(text))
    assert [said(cause).partition(":")[0] for cause in causes] == [
        "SparkException", "SslAuthenticationException", "CertificateExpiredException",
    ]  # fmt: skip
    assert isinstance(refusal_of(causes, OPTIONS), BrokerCertificateWrong)


def test_secrets_are_hidden_and_names_of_users_are_not() -> None:
    jaas = (
        'X required username="penstock" password="a\\"b\\\\c" clientSecret=bare token=\'single\';'
    )
    secrets = secrets_in({"sasl.jaas.config": jaas, "ssl.key.password": "hush", "a": "b"})
    said_by_kafka = f'penstock {jaas} a\\"b\\\\c a"b\\c bare single hush'
    shown = hidden(said_by_kafka, secrets)
    assert shown == f"penstock {HIDDEN} {HIDDEN} {HIDDEN} {HIDDEN} {HIDDEN} {HIDDEN}"
