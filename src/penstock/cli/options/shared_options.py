"""Options that several commands have."""

import argparse
from pathlib import Path


def with_config(command: argparse.ArgumentParser) -> None:
    """Add the option for the configuration file."""
    command.add_argument(
        "-c",
        "--config",
        type=Path,
        default=Path("penstock.yaml"),
        metavar="FILE",
        help="the configuration (default: ./penstock.yaml)",
    )


def with_output(command: argparse.ArgumentParser) -> None:
    """Add the option for text or JSON."""
    command.add_argument(
        "--output",
        choices=("text", "json"),
        default="text",
        help="the form of the output (default: text)",
    )
