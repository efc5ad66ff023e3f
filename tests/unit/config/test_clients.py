"""Settings of Kafka's client and of Spark: word for word, except what would be dangerous."""

from pathlib import Path

import pytest

from penstock.config.clients import reveal_feed_kafka, reveal_kafka, reveal_spark
from penstock.config.errors import ConfigInvalid
from penstock.config.jaas import MODULES, jaas_complaint
from penstock.config.load import load
from penstock.config.mistakes import Mistake
from penstock.model.spec import FeedSpec, LakeSpec

SERVERS = "bootstrap.servers: 'localhost:9092'"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "sasl.oauthbearer.token.endpoint.url"


def spec_of(folder: Path, kafka: str = "", spark: str = "") -> LakeSpec:
    """Load a file with one line of Kafka's settings (line 5) and one of Spark's (line 7)."""
    content = (
        f"version: 1\nlake: ./lake\nkafka:\n  {SERVERS}\n  {kafka}\nspark:\n  {spark}\n"
        "feeds: {a: {topics: [a]}}\n"
    )
    (folder / "penstock.yaml").write_text(content)
    return load(folder / "penstock.yaml", {})


def mistake_of(folder: Path, kafka: str = "", spark: str = "") -> Mistake:
    """The only mistake of such a file."""
    with pytest.raises(ConfigInvalid) as caught:
        spec_of(folder, kafka, spark)
    (mistake,) = caught.value.mistakes
    return mistake


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("security.protocol: SASL_SSL", "security.protocol", "SASL_SSL"),
        ("check.crcs: true", "check.crcs", "true"),
        ("check.crcs: yes", "check.crcs", "yes"),
        ("fetch.max.bytes: 0x10", "fetch.max.bytes", "0x10"),
        ("client.id: 007", "client.id", "007"),
        ("client.rack: ''", "client.rack", ""),
        ("ssl.keystore.location: /etc/k.p12", "ssl.keystore.location", "/etc/k.p12"),
        ("ssl.key.password: '${env:PW}'", "ssl.key.password", "${env:PW}"),
        (f"{OAUTH}: 'https://id/token'", OAUTH, "https://id/token"),
    ],
)
def test_settings_of_kafka_pass_word_for_word(
    tmp_path: Path, line: str, key: str, value: str
) -> None:
    assert spec_of(tmp_path, kafka=line).kafka[key] == value


@pytest.mark.parametrize(
    "servers", ["a:1", "a:1,b:2", "a:1, b:2", "PLAINTEXT://a:1", "[::1]:9092", "${env:S}:9092"]
)
def test_brokers_are_hosts_with_ports(tmp_path: Path, servers: str) -> None:
    (tmp_path / "penstock.yaml").write_text(
        f"version: 1\nlake: a\nkafka: {{bootstrap.servers: '{servers}'}}\n"
        "feeds: {a: {topics: [a]}}\n"
    )
    assert load(tmp_path / "penstock.yaml", {}).kafka == {"bootstrap.servers": servers}


@pytest.mark.parametrize(
    ("kafka", "words"),
    [
        ("{}", "missing"),
        ("{bootstrap_servers: 'a:1'}", "missing, and there is 'bootstrap_servers'"),
        ("{bootstrap.servers: localhost}", "not a list of brokers"),
        ("{bootstrap.servers: ''}", "not a list of brokers"),
        ("{bootstrap.servers: [a:1, b:2]}", "not one value"),
        ("", "missing"),
    ],
)
def test_a_file_without_brokers_is_a_mistake(tmp_path: Path, kafka: str, words: str) -> None:
    (tmp_path / "penstock.yaml").write_text(
        f"version: 1\nlake: a\nkafka: {kafka}\nfeeds: {{a: {{topics: [a]}}}}\n"
    )
    with pytest.raises(ConfigInvalid) as caught:
        load(tmp_path / "penstock.yaml", {})
    (mistake,) = caught.value.mistakes
    assert (mistake.line, mistake.path, mistake.found) == (3, "kafka.bootstrap.servers", words)


@pytest.mark.parametrize(
    "key",
    [
        "interceptor.classes", "metric.reporters", "key.deserializer", "value.deserializer",
        "key.serializer", "value.serializer", "config.providers", "config.providers.x.class",
        "config.providers.file.param.a", "sasl.client.callback.handler.class", "sasl.login.class",
        "sasl.login.callback.handler.class", "ssl.engine.factory.class", "security.providers",
        "partition.assignment.strategy", "sasl.kerberos.kinit.cmd", "SASL.Login.Class",
    ],
)  # fmt: skip
def test_a_key_that_loads_code_is_refused(tmp_path: Path, key: str) -> None:
    mistake = mistake_of(tmp_path, kafka=f"{key}: evil")
    assert (mistake.line, mistake.path) == (5, f"kafka.{key}")
    assert mistake.found == "this key loads code; leave it out"


@pytest.mark.parametrize(
    "key",
    ["group.id", "group.instance.id", "auto.offset.reset", "enable.auto.commit", "isolation.level"],
)
def test_a_key_that_penstock_sets_is_refused(tmp_path: Path, key: str) -> None:
    mistake = mistake_of(tmp_path, kafka=f"{key}: mine")
    assert "Penstock sets this key itself" in mistake.found


def test_a_key_with_the_prefix_of_spark_gets_a_guess(tmp_path: Path) -> None:
    mistake = mistake_of(tmp_path, kafka="kafka.security.protocol: SSL")
    assert mistake.meant == "security.protocol"


@pytest.mark.parametrize("value", ["''", "' '", "none", "HTTP"])
def test_the_check_of_host_names_cannot_be_turned_off(tmp_path: Path, value: str) -> None:
    mistake = mistake_of(tmp_path, kafka=f"ssl.endpoint.identification.algorithm: {value}")
    assert "host name would not be checked" in mistake.found


@pytest.mark.parametrize(
    "value", ["file:///etc/passwd", "FILE:/etc/passwd", "ftp://a", "jar:file:///a", "''", "/a"]
)
def test_a_token_url_reads_no_file(tmp_path: Path, value: str) -> None:
    for key in (OAUTH, "sasl.oauthbearer.jwks.endpoint.url"):
        assert "not http" in mistake_of(tmp_path, kafka=f"{key}: {value}").found


@pytest.mark.parametrize(
    "line", ["client.id: [a]", "client.id: {a: b}", "client.id:", "client.id: ~", "'a b': c"]
)
def test_what_is_not_one_setting_is_refused(tmp_path: Path, line: str) -> None:
    assert mistake_of(tmp_path, kafka=line).line == 5


@pytest.mark.parametrize("module", MODULES)
def test_the_login_modules_of_kafka_pass(tmp_path: Path, module: str) -> None:
    text = f'{module} required username="u" password="${{env:PW}}" useKeyTab=true;'
    assert spec_of(tmp_path, kafka=f"sasl.jaas.config: '{text}'").kafka["sasl.jaas.config"] == text


@pytest.mark.parametrize(
    "text",
    [
        'com.sun.security.auth.module.JndiLoginModule required user.provider.url="ldap://x";',
        'com.sun.security.auth.module.LdapLoginModule required userProvider="ldap://x";',
        "x.Evil required;",
        f"{SCRAM}Evil required;",
        f"{SCRAM} required; x.Evil required;",
        f"{SCRAM} required /* a */; // b",
        f"// {SCRAM} required;\nx.Evil required;",
        f'{SCRAM} required a="b"; x.Evil required b="";',
        f'{SCRAM} required a="b" "c";',
        f'{SCRAM} required a="line\nbreak" required;',
        f"{SCRAM} required a='b\\",
        f"{SCRAM} required",
        f"{SCRAM} maybe;",
        f"{SCRAM};",
        "",
        ";",
    ],
)
def test_any_other_jaas_text_is_refused(text: str) -> None:
    assert jaas_complaint(text) is not None


@pytest.mark.parametrize(
    "line",
    [
        "ssl.key.password: hunter2",
        "ssl.keystore.password: hunter2",
        "ssl.truststore.password: 'hunter2${env:PW}'",
        "ssl.keystore.key: hunter2",
        "sasl.oauthbearer.client.credentials.client.secret: hunter2",
        f'sasl.jaas.config: \'{SCRAM} required username="u" password="hunter2";\'',
        f"sasl.jaas.config: '{SCRAM} required clientSecret=hunter2;'",
    ],
)
def test_a_secret_in_plain_text_is_refused_and_not_repeated(tmp_path: Path, line: str) -> None:
    mistake = mistake_of(tmp_path, kafka=line)
    assert mistake.found == "a secret in plain text"
    assert "hunter2" not in str(mistake)


def test_settings_of_spark_pass_word_for_word(tmp_path: Path) -> None:
    assert spec_of(tmp_path, spark="spark.speculation: true").spark == {"spark.speculation": "true"}
    spec = spec_of(tmp_path, spark="spark.authenticate.secret: '${env:S}'")
    assert spec.spark == {"spark.authenticate.secret": "${env:S}"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("master: local", "a key that is not Spark's"),
        ("hadoop.x: local", "a key that is not Spark's"),
        ("spark.sql.execution.arrow.maxRecordsPerBatch: 5", "Penstock sets this key itself"),
        ("spark.authenticate.secret: hunter2", "a secret in plain text"),
        ("spark.hadoop.fs.s3a.access.key: hunter2", "a secret in plain text"),
        ("spark.app.name: '${vault:a}'", "a reference of another form"),
    ],
)
def test_settings_that_spark_may_not_have_are_refused(
    tmp_path: Path, line: str, words: str
) -> None:
    mistake = mistake_of(tmp_path, spark=line)
    assert mistake.line == 7
    assert mistake.found.startswith(words)
    assert "hunter2" not in str(mistake)


def test_a_setting_that_was_a_reference_is_judged_when_it_is_revealed(tmp_path: Path) -> None:
    """Goal: a reference is no way around the rules. Method: bad values behind good references."""
    spec = spec_of(tmp_path, kafka=f"{OAUTH}: '${{env:URL}}'")
    assert reveal_kafka(spec.kafka, {"URL": "https://id/token"})[OAUTH].reveal()
    with pytest.raises(ConfigInvalid, match="not http") as caught:
        reveal_kafka(spec.kafka, {"URL": "file:///etc/passwd"})
    assert "passwd" not in str(caught.value)
    spec = spec_of(tmp_path, kafka="sasl.jaas.config: '${env:JAAS}'")
    good = f'{SCRAM} required username="u" password="p";'
    assert reveal_kafka(spec.kafka, {"JAAS": good})["sasl.jaas.config"].reveal() == good
    with pytest.raises(ConfigInvalid, match="not Kafka's own"):
        reveal_kafka(spec.kafka, {"JAAS": "com.sun.security.auth.module.JndiLoginModule required;"})


@pytest.mark.parametrize("password", ['a"b', "a\\b", '"; x.Evil required a="', "${env:PW}", "a;b"])
def test_a_password_cannot_break_out_of_its_quotes(tmp_path: Path, password: str) -> None:
    line = f"sasl.jaas.config: '{SCRAM} required password=\"${{env:PW}}\";'"
    text = reveal_kafka(spec_of(tmp_path, kafka=line).kafka, {"PW": password})[
        "sasl.jaas.config"
    ].reveal()
    assert jaas_complaint(text) is None
    escaped = password.replace("\\", "\\\\").replace('"', '\\"')
    assert text == f'{SCRAM} required password="{escaped}";'


def test_a_password_with_a_line_break_is_refused(tmp_path: Path) -> None:
    line = f"sasl.jaas.config: '{SCRAM} required password=\"${{env:PW}}\";'"
    with pytest.raises(ConfigInvalid, match="not a JAAS entry"):
        reveal_kafka(spec_of(tmp_path, kafka=line).kafka, {"PW": "a\nb"})


def test_all_missing_secrets_are_told_at_once(tmp_path: Path) -> None:
    settings = {
        "ssl.key.password": "${env:NOT_SET}",
        "ssl.keystore.password": f"${{file:{tmp_path}/gone}}",
        "client.id": "x",
    }
    with pytest.raises(ConfigInvalid) as caught:
        reveal_kafka(settings, {})
    assert [one.path for one in caught.value.mistakes] == [
        "kafka.ssl.key.password",
        "kafka.ssl.keystore.password",
    ]
    with pytest.raises(ConfigInvalid, match="NOT_SET is not set"):
        reveal_spark({"spark.authenticate.secret": "${env:NOT_SET}"}, {"NOT_SET": ""})


HANDLER = "sasl.login.callback.handler.class"
TOKEN_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"


def revealed(settings: dict[str, str]) -> dict[str, str]:
    found = reveal_feed_kafka(settings, FeedSpec(name="a"), {})
    return {key: value.reveal() for key, value in found.items()}


def test_the_class_that_fetches_tokens_is_set_where_there_is_an_address_for_them() -> None:
    """Kafka does not choose it itself, so that a login by OAUTHBEARER alone would fetch nothing."""
    oauth = {"sasl.mechanism": "OAUTHBEARER", OAUTH: "https://id/token"}
    assert revealed(oauth) == {**oauth, HANDLER: TOKEN_HANDLER}
    for less in ({OAUTH: "https://id/token"}, {"sasl.mechanism": "OAUTHBEARER"}):
        assert revealed(less) == less
    other = {**oauth, "sasl.mechanism": "PLAIN"}
    assert revealed(other) == other


def test_only_kafkas_own_class_for_tokens_may_be_named(tmp_path: Path) -> None:
    old = TOKEN_HANDLER.replace("oauthbearer.", "oauthbearer.secured.")
    for name in (TOKEN_HANDLER, old):
        assert spec_of(tmp_path, kafka=f"{HANDLER}: {name}").kafka[HANDLER] == name
        both = {"sasl.mechanism": "OAUTHBEARER", OAUTH: "https://id/token", HANDLER: name}
        assert revealed(both) == both
    assert mistake_of(tmp_path, kafka=f"{HANDLER}: com.example.Handler").found
    spec = spec_of(tmp_path, kafka=f"{HANDLER}: '${{env:CLASS}}'")
    with pytest.raises(ConfigInvalid, match="loads code"):
        reveal_kafka(spec.kafka, {"CLASS": "com.example.Handler"})


@pytest.mark.parametrize(
    "option",
    ["ssl.engine.factory.class=x.Y", 'SSL.Engine.Factory.Class = "x.Y"', "security.providers=x.Y"],
)
def test_a_login_whose_options_load_code_is_refused(option: str) -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    assert jaas_complaint(f'{module} required clientId="a" ssl.truststore.location="/b";') is None
    refused = jaas_complaint(f'{module} required clientId="a" {option} scope="b";')
    assert refused is not None
    assert "loads code" in str(refused)
    hidden_in_a_value = f'{module} required clientId="ssl.engine.factory.class=x";'
    assert jaas_complaint(hidden_in_a_value) is None


def test_files_of_certificates_are_looked_for_beside_the_file(tmp_path: Path) -> None:
    for key in ("ssl.truststore.location", "ssl.keystore.location"):
        assert spec_of(tmp_path, kafka=f"{key}: etc/a.pem").kafka[key] == f"{tmp_path}/etc/a.pem"
        assert spec_of(tmp_path, kafka=f"{key}: /etc/a.pem").kafka[key] == "/etc/a.pem"
        assert spec_of(tmp_path, kafka=f"{key}: '${{env:A}}'").kafka[key] == "${env:A}"
    assert spec_of(tmp_path, kafka="client.id: a.pem").kafka["client.id"] == "a.pem"
