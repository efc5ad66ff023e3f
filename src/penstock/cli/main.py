"""`penstock`: parse the arguments, run the command, and return its exit code."""

import argparse
import sys
from collections.abc import Sequence
from functools import cache

from penstock import __version__
from penstock.cli.commands import (
    audit,
    check,
    clean,
    demo,
    files,
    init,
    jars,
    offsets,
    plugins,
    run,
    schema,
    status,
)
from penstock.cli.commands import errors as quarantine_command
from penstock.cli.output_streams import CUT_OFF, all_is_out, escape_the_unprintable, say
from penstock.errors import PenstockError

# An interrupted run is a success, also if it is interrupted before it handles signals.
INTERRUPTED = {run.run: 0}
EPILOG = """exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 outcome unknown,
4 audit found a difference, 5 a feed has halted and needs an operator, 75 fenced by a newer
owner, or owned by another instance with --no-wait"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code; output that was cut off turns 0 into 1."""
    escape_the_unprintable()
    try:
        code = _outcome(arguments)
    finally:
        is_complete = all_is_out()
    return code if is_complete else code or CUT_OFF


def _outcome(arguments: Sequence[str] | None) -> int:
    """Run one command. Returns an exit code for every way in which it can end."""
    chosen = parser().parse_args(arguments)
    try:
        code: int = chosen.command(chosen)
    except PenstockError as error:
        say(str(error), sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        return CUT_OFF
    except KeyboardInterrupt:
        say("interrupted", sys.stderr)
        return INTERRUPTED.get(chosen.command, 1)
    return code


@cache
def parser() -> argparse.ArgumentParser:
    """The parser of all commands. Made once, since it takes longer than many a command."""
    top = argparse.ArgumentParser(
        prog="penstock",
        description="Deliver Kafka topics into a lake, exactly once, and prove it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"penstock {__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in (
        demo,
        init,
        check,
        run,
        status,
        audit,
        files,
        schema,
        quarantine_command,
        offsets,
        clean,
        plugins,
        jars,
    ):
        module.add_to(commands)
    return top
