"""The words of `penstock check`."""

import argparse
from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_config, with_output

MOST_SAMPLED = 10_000


def sample_size(text: str) -> int:
    """How many records to sample."""
    if not text.isdigit() or not 1 <= int(text) <= MOST_SAMPLED:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {MOST_SAMPLED}")
    return int(text)


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "check",
        help="check the configuration, Java, the lake, registry and Kafka; show the next window",
        description="Check everything that a run needs, and show what each feed would read next. "
        "Writes only a probe into the lake, and removes it. --sample decodes some records of every "
        "topic as a run would, and shows types, days, and what would be quarantined and why.",
        epilog="example: penstock check -c penstock.yaml --sample 100",
    )
    command.add_argument(
        "--sample",
        type=sample_size,
        default=0,
        metavar="N",
        help=f"decode N records per topic, at most {MOST_SAMPLED:,}; nothing is written",
    )
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.check:run"))
