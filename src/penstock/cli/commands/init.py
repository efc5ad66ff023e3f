"""`penstock init`: write a commented configuration."""

import argparse

from penstock.cli.errors import UsageMistake
from penstock.config.example import example_text


def run(chosen: argparse.Namespace) -> int:
    """Write the file, if it does not exist."""
    try:
        with chosen.file.open("x") as file:
            file.write(example_text(with_backup=chosen.backup))
    except FileExistsError as error:
        raise UsageMistake(
            f"{chosen.file} exists already.", "It was not changed. Choose another name."
        ) from error
    except OSError as error:
        raise UsageMistake(f"{chosen.file} cannot be written: {error.strerror}.", "") from error
    print(f"wrote {chosen.file}; edit it, then: penstock run -c {chosen.file} --once")
    return 0
