"""`penstock`: parse the arguments, import and run the command, and return its exit code."""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import cache

from penstock import __version__
from penstock.cli.options import (
    audit_options,
    check_options,
    clean_options,
    compact_options,
    cost_options,
    demo_options,
    errors_options,
    files_options,
    finalize_options,
    init_options,
    jars_options,
    offsets_options,
    plugins_options,
    retire_options,
    run_options,
    schema_options,
    serve_options,
    status_options,
    unpark_options,
    wait_options,
    where_options,
)
from penstock.cli.options.shared_options import with_commands
from penstock.cli.output_streams import CUT_OFF, all_is_out, escape_the_unprintable, say
from penstock.errors import PenstockError

# An interrupted run or server is a success, also if it is interrupted before it handles signals.
INTERRUPTED = {"run": 0, "serve": 0}
EPILOG = """exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 outcome unknown,
4 audit found a difference, 5 a feed has halted and needs an operator, 75 not now: owned
by another instance, or taken by it, with --no-wait or --once; or not complete, with wait"""


def main(arguments: Sequence[str] | None = None, begin: Callable[[], None] = lambda: None) -> int:
    """Run one command. Returns its exit code; output that was cut off turns 0 into 1.

    Only what the command needs is imported; `begin` is called then, right before it runs.
    """
    escape_the_unprintable()
    try:
        code = _outcome(sys.argv[1:] if arguments is None else arguments, begin)
    finally:
        is_complete = all_is_out()
    return code if is_complete else code or CUT_OFF


def _outcome(arguments: Sequence[str], begin: Callable[[], None]) -> int:
    """Run one command. Returns an exit code for every way in which it can end."""
    try:
        chosen = parser().parse_args(arguments)
        command = chosen.command.get()
        begin()
        code: int = command(chosen)
    except PenstockError as error:
        say(str(error), sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        return CUT_OFF
    except KeyboardInterrupt:
        say("interrupted", sys.stderr)
        return INTERRUPTED.get(arguments[0], 1) if arguments else 1
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
    commands = with_commands(top, "commands", "COMMAND")
    for words in (
        demo_options,
        init_options,
        check_options,
        run_options,
        serve_options,
        status_options,
        audit_options,
        files_options,
        schema_options,
        errors_options,
        where_options,
        offsets_options,
        unpark_options,
        cost_options,
        compact_options,
        clean_options,
        retire_options,
        finalize_options,
        wait_options,
        plugins_options,
        jars_options,
    ):
        words.add_to(commands)
    return top
