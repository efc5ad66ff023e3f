"""`penstock serve` as a process, and what `serve` and `run` refuse before anything starts."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.api.errors import PluginUnknown
from penstock.cli.errors import UsageMistake
from penstock.cli.main import main, parser
from penstock.cli.serving import checked_token, token_of, watching_of
from penstock.serve.errors import TokenRefused
from penstock.serve.server import Address, listen
from penstock.serve.text_file import TextFile
from tests.helpers.http_asking import ask, dial
from tests.helpers.journals import delivered
from tests.helpers.lakes_on_disk import DiskLake

TOKEN = "a-token-of-some-length"


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    found = DiskLake(tmp_path)
    delivered(found.room(["a", "b", "a"]))
    return found


@contextmanager
def served(lake: DiskLake, *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command in a process of its own: where it answers, and the process."""
    command = [sys.executable, "-m", "penstock", *lake.words("serve", "--port", "0", *words)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().split()[-1], process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_answers_from_the_lake_alone_and_ends_at_once(
    lake: DiskLake, number: signal.Signals
) -> None:
    with served(lake) as (url, process):
        assert b'penstock_records_read_total{feed="feed"} 3.0' in ask(url, "/metrics").body
        assert ask(url, "/api/feeds").json["feeds"][1]["state"] == "never ran"
        assert ask(url, "/readyz").status == 503
        with dial(url) as slow:
            slow.sendall(b"GET /metr")
            process.send_signal(number)
            assert process.wait(30) == 0


def test_feeds_can_be_named(lake: DiskLake) -> None:
    with served(lake, "feed") as (url, _):
        assert [each["feed"] for each in ask(url, "/api/feeds").json["feeds"]] == ["feed"]
    assert main(lake.words("serve", "nobody")) == 2


def test_a_token_is_wanted_where_one_is_given(lake: DiskLake, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    with served(lake, "--token-file", str(file)) as (url, _):
        assert ask(url, "/metrics").status == 401
        assert ask(url, "/metrics", Authorization=f"Bearer {TOKEN}").status == 200


def test_a_lake_that_is_not_there_yet_is_not_an_error(tmp_path: Path) -> None:
    config = tmp_path / "penstock.yaml"
    lake = DiskLake(tmp_path)
    config.write_text(config.read_text().replace("./lake", "./another"))
    with served(lake) as (url, _):
        found = ask(url, "/readyz")
        assert found.status == 503
        assert "There is no lake" in found.json["why"]
        assert b"penstock_lake_up 0.0" in ask(url, "/metrics").body
    assert not (tmp_path / "another").exists(), "a server that reads creates nothing"


def test_a_port_in_use_ends_the_command_with_2(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    with listen(Address("127.0.0.1", 0), None) as taken:
        port = str(taken.getsockname()[1])
        for command in ("serve", "run --serve"):
            assert main(lake.words(*command.split(), "--port", port)) == 2
            said = capsys.readouterr().err.strip().splitlines()
            assert len(said) == 1
            assert f"127.0.0.1 port {port}: address already in use." in said[0]


def test_another_address_without_a_token_ends_the_command_with_2(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("serve", "run --serve"):
        assert main(lake.words(*command.split(), "--host", "0.0.0.0")) == 2
        assert "--token-file" in capsys.readouterr().err


def test_a_token_comes_from_a_file_or_by_a_reference_and_not_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", TOKEN)
    assert token_of(None, "${env:A_TOKEN}", os.environ) == TOKEN
    assert token_of(None, None, os.environ) is None
    (tmp_path / "token").write_text(TOKEN)
    assert token_of(str(tmp_path / "token"), None, os.environ) == TOKEN
    refused = [
        (None, TOKEN),
        (None, "${env:NO_SUCH_VARIABLE}"),
        (str(tmp_path / "nowhere"), None),
    ]
    for file, reference in refused:
        with pytest.raises(TokenRefused) as error:
            token_of(file, reference, os.environ)
        assert TOKEN not in str(error.value)
        assert error.value.exit_code == 2


@pytest.mark.parametrize("token", ["", "short", "with a space in between", "ü" * 20, "a\tb" * 9])
def test_a_token_that_is_easily_guessed_or_cannot_be_sent_is_refused(token: str) -> None:
    with pytest.raises(TokenRefused):
        checked_token(token)


def chosen(lake: DiskLake, *words: str) -> object:
    return watching_of(parser().parse_args(lake.words("run", *words)))


def test_a_run_refuses_what_it_could_not_report_to(lake: DiskLake, tmp_path: Path) -> None:
    for words in (
        ["--port", "1"],
        ["--token", "${env:X}"],
        ["--metrics-file", str(tmp_path / "no" / "file")],
        ["--report", ""],
        ["--report", "textfile path"],
        ["--serve", "--most-datasets", "-1"],
    ):
        with pytest.raises(UsageMistake):
            chosen(lake, *words)
    with pytest.raises(PluginUnknown):
        chosen(lake, "--report", "nobody x=1")


def test_a_metrics_file_is_the_reporter_textfile(lake: DiskLake, tmp_path: Path) -> None:
    file = str(tmp_path / "a b.prom")
    for words in (["--metrics-file", file], ["--report", f"textfile 'path={file}'"]):
        watching = watching_of(parser().parse_args(lake.words("run", *words)))
        assert watching.serving is None
        (reporter,) = watching.reporters
        assert isinstance(reporter, TextFile)
        assert str(reporter._path) == file
