"""The words of `penstock compact`."""

from typing import Any

from penstock.api.later import Later
from penstock.cli.options.files_options import whole_day
from penstock.cli.options.shared_options import with_config, with_output


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "compact",
        help="rewrite small files into large ones",
        description="Rewrites the small files of each directory into few files near the target of "
        "`compact:`, with the same rows in order. Every value is compared before it is decided. "
        "What would not help is left: files near the target, and directories with few small files. "
        "The former files are removed as soon as the new ones are there. It keeps every row, so "
        "it acts at once; --dry-run only shows what it would do. It may be used beside a run.",
        epilog="example: penstock compact events/page_view --day 2026-11-15",
    )
    command.add_argument("what", metavar="FEED[/DATASET]")
    command.add_argument(
        "--day",
        type=whole_day,
        metavar="DAY",
        help="only files below the directory of this day, such as 2026-11-15",
    )
    way = command.add_mutually_exclusive_group()
    way.add_argument("--dry-run", action="store_true", help="show what would be rewritten")
    way.add_argument("--execute", action="store_true", help="do it; so it does without this word")
    command.add_argument("--reason", default="", metavar="TEXT", help="recorded in the journal")
    command.add_argument("--author", metavar="NAME", help="who decides (default: the login name)")
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.compact:run"))
