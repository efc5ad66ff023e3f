"""Which quarantined records a command means: `--fingerprint` and `--dataset`."""

import argparse

from penstock.cli.errors import UsageMistake
from penstock.model.names import encode_component


def require_words(chosen: argparse.Namespace, act: str) -> None:
    """Refuse empty arguments, such as an unset variable of a script.

    An empty fingerprint would otherwise mean everything.
    """
    for option in ("fingerprint", "dataset"):
        if getattr(chosen, option) == "":
            raise UsageMistake(
                f"--{option} is empty.",
                f"Leave it out to {act} all records; --dataset - means those of no dataset.",
            )


def datasets_named(word: str | None) -> frozenset[str] | None:
    """The directories that a dataset's name means; `-` means records without a dataset."""
    if word is None:
        return None
    directory = encode_component(word)
    return frozenset({"", directory} if word == "-" else {directory})


def named_records(chosen: argparse.Namespace) -> str:
    """What the arguments name, in words; empty when they name nothing."""
    options = {"with fingerprint": chosen.fingerprint, "of dataset": chosen.dataset}
    return " ".join(f"{what} {word!r}" for what, word in options.items() if word is not None)
