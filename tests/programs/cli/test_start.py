"""What every command waits for before it does anything: the modules that it imports."""

import signal
import subprocess
import sys

import pytest

from penstock.cli import start
from penstock.cli.main import main

LIST = "import sys, penstock.cli.main; print(*{name.split('.')[0] for name in sys.modules})"


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """The packages that are there once the commands are."""
    ran = subprocess.run([sys.executable, "-c", LIST], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


@pytest.mark.parametrize(
    "package", ["google", "grpc_tools", "fastavro", "confluent_kafka", "requests", "pandas"]
)
def test_commands_start_without_what_few_of_them_need(package: str, imported: set[str]) -> None:
    assert package not in imported


@pytest.mark.parametrize(("words", "code"), [(["run", "events"], 0), (["audit"], 1), ([], 1)])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_modules_are_imported_ends_a_command_without_a_trace(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals, words: list[str], code: int
) -> None:
    def interrupted(_name: str) -> None:
        signal.raise_signal(number)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(start, "import_module", interrupted)
    monkeypatch.setattr(sys, "argv", ["penstock", *words])
    try:
        assert start.main() == code
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("words", "listed"),
    [([], ["run", "status", "audit"]), (["errors"], ["list", "replay"]), (["offsets"], ["reset"])],
)
def test_a_group_of_commands_alone_lists_them(
    words: list[str], listed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert all(f"\n    {name} " in told.err for name in listed)


def test_an_interruption_before_the_command_runs_is_a_success_of_run_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert main(["run"], begin=interrupted) == 0
    assert main(["audit"], begin=interrupted) == 1
    assert capsys.readouterr().err == "interrupted\ninterrupted\n"
