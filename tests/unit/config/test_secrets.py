"""Secrets: references until the last moment, `***` whenever printed."""

import pickle
from pathlib import Path

import msgspec
import pytest

from penstock.config.clients import reveal_kafka
from penstock.config.errors import ConfigInvalid
from penstock.config.load import load
from penstock.config.mistakes import Refused
from penstock.config.secrets import MOST_SECRET_BYTES, Secret, revealed

CANARY = "c4n4ry-s3cr3t"
HEAD = "version: 1\nlake: ./lake\nfeeds: {a: {topics: [a]}}\n"


def test_a_secret_shows_stars_however_it_is_printed() -> None:
    secret = Secret(CANARY)
    for text in (str(secret), repr(secret), f"{secret}", f"{secret!r}", f"{[secret]} {secret:}"):
        assert CANARY not in text
        assert "***" in text
    assert secret.reveal() == CANARY
    assert secret == Secret(CANARY)
    assert secret != Secret("other")
    assert len({secret, Secret(CANARY)}) == 1


def test_a_secret_does_not_leave_the_process() -> None:
    with pytest.raises(TypeError, match="does not leave"):
        pickle.dumps(Secret(CANARY))


def test_a_spec_holds_references_and_never_values(tmp_path: Path) -> None:
    file = tmp_path / "penstock.yaml"
    (tmp_path / "secret").write_text(CANARY + "\n")
    file.write_text(
        HEAD + "kafka:\n  bootstrap.servers: a:1\n  ssl.key.password: ${env:PW}\n"
        "  ssl.keystore.password: ${file:secret}\n"
    )
    environ = {"PW": CANARY}
    spec = load(file, environ)
    assert CANARY not in repr(spec)
    assert CANARY.encode() not in msgspec.json.encode(spec)
    assert spec.kafka["ssl.keystore.password"] == f"${{file:{tmp_path}/secret}}"
    options = reveal_kafka(spec.kafka, environ)
    assert CANARY not in repr(options)
    assert options["ssl.key.password"].reveal() == CANARY
    assert options["ssl.keystore.password"].reveal() == CANARY
    assert options["bootstrap.servers"].reveal() == "a:1"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${env:A}", "one"),
        ("x${env:A}y${env:B}z", "xoney${env:A}z"),
        ("plain", "plain"),
        ("$5 {env:A}", "$5 {env:A}"),
    ],
)
def test_references_are_replaced_once_and_anywhere_in_a_text(text: str, value: str) -> None:
    assert revealed(text, {"A": "one", "B": "${env:A}"}).reveal() == value


@pytest.mark.parametrize(("content", "value"), [("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n")])
def test_one_line_end_of_a_secret_file_is_not_part_of_it(
    tmp_path: Path, content: str, value: str
) -> None:
    (tmp_path / "s").write_bytes(content.encode())
    assert revealed(f"${{file:{tmp_path / 's'}}}", {}).reveal() == value


@pytest.mark.parametrize(
    "content", [None, b"", b"\n", b"\xff" + CANARY.encode(), b"a" * (MOST_SECRET_BYTES + 1)]
)
def test_a_secret_file_that_is_no_secret_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "s").write_bytes(content)
    with pytest.raises(Refused) as caught:
        revealed(f"${{file:{tmp_path / 's'}}}", {})
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "value", ["${vault:a}", "${env:}", "${env:1A}", "${env:A", "${file:}", "${HOME}", "a${"]
)
def test_a_reference_of_another_form_is_a_mistake(tmp_path: Path, value: str) -> None:
    file = tmp_path / "penstock.yaml"
    file.write_text(HEAD + f"kafka:\n  bootstrap.servers: a:1\n  client.id: '{value}'\n")
    with pytest.raises(ConfigInvalid, match="a reference of another form") as caught:
        load(file, {})
    assert caught.value.mistakes[0].line == 6


@pytest.mark.parametrize(
    "line",
    [
        "lake: ${env:PW}",
        "feeds: {b: {topics: ['${env:PW}']}}",
        "feeds: {b: {topics: [b], datasets: {d: {team: '${file:x}'}}}}",
        "feeds: {b: {topics: [b], on_gap: '${env:PW}'}}",
    ],
)
def test_a_value_that_others_will_see_cannot_be_a_secret(tmp_path: Path, line: str) -> None:
    file = tmp_path / "penstock.yaml"
    head = "\n".join(part for part in HEAD.splitlines() if not part.startswith(line[:4]))
    file.write_text(f"{head}\nkafka: {{bootstrap.servers: 'a:1'}}\n{line}\n")
    with pytest.raises(ConfigInvalid, match="a reference to a secret") as caught:
        load(file, {"PW": CANARY})
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        f"kafka: {CANARY}\n",
        f"kafka: [{CANARY}]\n",
        f"kafka:\n  ssl.key.password: {CANARY}\n",
        f"kafka:\n  ssl.key.password: !{CANARY}\n",
        f"kafka:\n  ssl.key.password: !{CANARY}!x a\n",
        f"kafka:\n  ssl.key.password: *{CANARY}\n",
        f"kafka:\n  ssl.key.password: &{CANARY}\n",
        f"kafka:\n  ssl.key.password: '{CANARY}\n",
        f"kafka:\n  ssl.key.password: [{CANARY}\n",
        f"kafka:\n  ssl.key.password: @{CANARY}\n",
        f'kafka:\n  ssl.key.password: "\\{CANARY}"\n',
        f"kafka:\n  ssl.key.password: {CANARY}: {CANARY}\n",
        f"kafka:\n  ssl.key.password:\n    - {CANARY}\n",
        f"kafka:\n  sasl.jaas.config: x password={CANARY};\n",
        f"kafka:\n  sasl.oauthbearer.token.endpoint.url: file:///{CANARY}\n",
        f"kafka:\n  interceptor.classes: {CANARY}\n",
        f"spark: {{master: {CANARY}}}\n",
        f"registry: {{url: 'http://u:{CANARY}@host'}}\n",
        f"dispersals: {{a: {{to: {{dsn: {CANARY}}}}}}}\n",
        f"lake: s3://u:{CANARY}@bucket\n",
        f"lake: file://{CANARY}@host/a\n",
        f"password: {CANARY}\n",
    ],
)
def test_no_mistake_repeats_what_may_be_a_secret(tmp_path: Path, content: str) -> None:
    file = tmp_path / "penstock.yaml"
    file.write_text("version: 1\n" + content)
    with pytest.raises(ConfigInvalid) as caught:
        load(file, {})
    error = caught.value
    assert CANARY not in str(error) + repr(error) + repr(error.mistakes)


def test_a_secret_in_the_environment_or_a_flag_is_not_repeated_either(tmp_path: Path) -> None:
    file = tmp_path / "penstock.yaml"
    file.write_text(HEAD + "kafka: {bootstrap.servers: 'a:1'}\n")
    environ = {"PENSTOCK__KAFKA__SSL_KEY_PASSWORD": CANARY, "PENSTOCK__SPARK__SECRET": CANARY}
    with pytest.raises(ConfigInvalid) as caught:
        load(file, environ, {"kafka.sasl.jaas.config": CANARY, "spark": CANARY, "kafka": CANARY})
    assert CANARY not in str(caught.value) + repr(caught.value.mistakes)
