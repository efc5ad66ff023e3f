"""What every command waits for before it does anything: the modules that it imports."""

import subprocess
import sys

import pytest

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
