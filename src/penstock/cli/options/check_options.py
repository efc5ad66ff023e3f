"""The words of `penstock check`."""

from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_config, with_output


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "check",
        help="check the configuration, Java, the lake, registry and Kafka; show the next window",
        description="Check everything that a run needs, and show what each feed would read next. "
        "Writes only a probe into the lake, and removes it.",
        epilog="example: penstock check -c penstock.yaml",
    )
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.check:run"))
