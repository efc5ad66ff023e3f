"""`penstock`: reads the words of a command, runs it, and turns its outcome into an exit code."""

import argparse
import sys
from collections.abc import Sequence

from penstock import __version__
from penstock.cli.commands import (
    audit,
    check,
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

# Whoever stops a run has got what they wanted, also before it heard of signals.
INTERRUPTED = {run.run: 0}
EPILOG = """exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 outcome unknown,
4 audit found a difference, 5 a feed has halted and needs a person, 75 fenced by a newer owner,
or a lease held by another one with --no-wait"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code, which no reader of its output can better."""
    escape_the_unprintable()
    try:
        code = _outcome(arguments)
    finally:
        is_heard = all_is_out()
    return code if is_heard else code or CUT_OFF


def _outcome(arguments: Sequence[str] | None) -> int:
    """Run one command; every way in which it may end, as an exit code."""
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


def parser() -> argparse.ArgumentParser:
    """The words of every command."""
    top = argparse.ArgumentParser(
        prog="penstock",
        description="Kafka topics into the lake, exactly once, with the proof.",
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
        plugins,
        jars,
    ):
        module.add_to(commands)
    return top
