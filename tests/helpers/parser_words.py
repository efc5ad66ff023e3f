"""The commands of the parser, by their words."""

import argparse
from collections.abc import Iterator


def leaves(found: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.Action]]:
    """Every command with each of its actions; a command with verbs is its verbs."""
    inner = [a for a in found._actions if isinstance(a, argparse._SubParsersAction)]
    for action in inner:
        for word, child in action.choices.items():
            yield from leaves(child, f"{name} {word}")
    if not inner:
        for each in found._actions:
            yield name, each
