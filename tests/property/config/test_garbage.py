"""Whatever lies in the file, loading it ends soon, and in a spec or in `ConfigInvalid`."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import msgspec
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.config.clients import reveal_kafka, reveal_spark
from penstock.config.errors import ConfigInvalid
from penstock.config.load import all_keys, load
from penstock.config.secrets import has_reference
from penstock.model.spec import LakeSpec

CANARY = "c4n4ry"
WORDS = sorted({part for key in all_keys() for part in key.split(".")})
# Pieces of YAML, of our grammar and of attacks, so that random texts get past the first line.
PIECES = st.sampled_from([
    *WORDS, ": ", ":\n", "\n", "\n  ", "\n    ", "- ", "[", "]", "{", "}", ", ", "'", '"', "|\n",
    ">-\n", "&a ", "*a", "!!str ", "!x ", "!!python/object/apply:os.system ", "<<: ", "? ", "---\n",
    "...\n", "%YAML 1.1\n", "#", "1", "-1", "60s", "1GB", "day", "field:a", "topic", "latest", "\t",
    "2026-11-01T00:00:00Z", "${env:A}", "${file:/dev/null}", "s3://", "file:///", "spark.master",
    "bootstrap.servers", "a:1", "\\", "\0", "\x85", "\u2028", "\ufeff", "é", "\U0001f600", "~", "",
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=200)
SCALARS = st.sampled_from([*WORDS, "60s", "1GB", "a:1", "${env:A}", ""]) | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS | st.none() | st.booleans() | st.integers() | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS) | SCALARS, inner, max_size=6)
    ),
    max_leaves=30,
)


@contextmanager
def written(content: bytes) -> Iterator[Path]:
    """A file with this content, in a directory of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "penstock.yaml"
        file.write_bytes(content)
        yield file


def outcome(content: bytes, environ: dict[str, str] | None = None) -> LakeSpec | ConfigInvalid:
    """Load it with both parsers; anything but the two outcomes escapes as an error."""
    with written(content) as file:
        with mock.patch("penstock.config.yaml_file._LOADER", yaml.SafeLoader):
            _loaded(file, environ or {})
        return _loaded(file, environ or {})


def _loaded(file: Path, environ: dict[str, str]) -> LakeSpec | ConfigInvalid:
    try:
        spec = load(file, environ)
    except ConfigInvalid as error:
        return error
    assert msgspec.json.decode(msgspec.json.encode(spec), type=LakeSpec) == spec
    return spec


@given(TEXTS)
@example('lake: "\\UFFFFFFFF"')
@example('lake: "\\uD800"')
@example("%YAML 1." + "9" * 5_000 + "\n---\na")
@example("lake: !!python/object/apply:os.system ['true']")
@example("[" * 5_000)
@example("- " * 5_000)
@example("? " * 5_000)
@example("a: &a [*a]")
def test_garbage_is_a_configuration_or_a_mistake(text: str) -> None:
    outcome(text.encode("utf-8", "surrogatepass"))


@given(st.binary(max_size=200))
def test_bytes_are_a_configuration_or_a_mistake(content: bytes) -> None:
    outcome(content)


@given(st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=8))
def test_any_tree_of_known_words_is_a_configuration_or_a_mistake(tree: dict[str, object]) -> None:
    outcome(yaml.safe_dump({"version": 1, **tree}).encode())


@given(st.dictionaries(st.text(max_size=20) | st.sampled_from(WORDS), TEXTS, max_size=5))
def test_any_environment_and_flags_are_a_configuration_or_a_mistake(
    values: dict[str, str],
) -> None:
    variables = {f"PENSTOCK__{name.upper()}": value for name, value in values.items()}
    with written(b"version: 1\n") as file:
        for environ, flags in ((variables, {}), ({}, values)):
            with pytest.raises(ConfigInvalid):  # there is no feed
                load(file, environ, flags)


@given(
    st.lists(PIECES, max_size=8).map("".join),
    st.lists(PIECES, max_size=8).map("".join),
    st.sampled_from(["ssl.key.password", "sasl.jaas.config", "client.id", "group.id", "x y"]),
)
def test_a_literal_value_for_a_client_is_never_repeated_in_an_error(
    before: str, after: str, key: str
) -> None:
    content = f"version: 1\nkafka:\n  {key}: {before}{CANARY}{after}\n"
    found = outcome(content.encode())
    assert isinstance(found, ConfigInvalid)
    # As a key of ours the word would be shown; a value it must never be.
    shown = [one for one in found.mistakes if CANARY not in one.path]
    assert all(CANARY not in one.found + one.allowed + one.meant for one in shown)


@given(
    st.dictionaries(
        st.sampled_from(["ssl.key.password", "sasl.jaas.config", "client.id", "bootstrap.servers"]),
        st.lists(st.sampled_from(["${env:A}", "${env:B}", "x", '"', ";", " ", "a:1"])).map("".join),
    ),
    st.text(max_size=10),
)
def test_a_revealed_secret_is_in_no_text_form_and_in_no_error(
    settings: dict[str, str], noise: str
) -> None:
    environ = {"A": f"{noise}{CANARY}"}
    for reveal in (reveal_kafka, reveal_spark):
        try:
            options = reveal(settings, environ)
        except ConfigInvalid as error:
            assert CANARY not in str(error) + repr(error)  # noqa: PT017
        else:
            assert CANARY not in repr(options) + str(options)
            with_canary = [key for key in options if CANARY in options[key].reveal()]
            assert all(has_reference(settings[key]) for key in with_canary)
