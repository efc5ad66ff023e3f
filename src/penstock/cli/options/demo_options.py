"""The words of `penstock demo`."""

from pathlib import Path
from typing import Any

from penstock.api.later import Later


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "demo",
        help="see Penstock work in a minute and a half, with its own broker",
        description="Start a Kafka broker, write mixed events to it, deliver them into a lake, "
        "kill the run with -9 in the middle, start it again, and count the result with a client "
        "that shares no code with it. All files are in one directory; nothing is left running. "
        "Exit code 0 only when nothing was lost or doubled and the audit is clean.",
        epilog="example: penstock demo --records 50000 --dir /tmp/demo --serve",
    )
    command.add_argument(
        "--dir",
        type=Path,
        default=Path("penstock-demo"),
        metavar="D",
        help="the directory (default: ./penstock-demo); an earlier demo there is replaced",
    )
    command.add_argument(
        "--lake",
        default="",
        metavar="URI",
        help="a lake in a bucket of yours, s3://bucket/prefix, or hdfs://namenode:port/directory, "
        "with nothing there yet; keys, region, endpoint, user and configuration come from the "
        "environment as for other programs",
    )
    command.add_argument(
        "--store",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of that lake's store, such as path_style=true; repeat it for more",
    )
    command.add_argument(
        "--records", type=int, default=200_000, metavar="N", help="how many events (200000)"
    )
    command.add_argument(
        "--rm", action="store_true", help="at the end, remove the files of the demo"
    )
    command.add_argument(
        "--serve", action="store_true", help="then show the page on 127.0.0.1 until Ctrl-C"
    )
    command.set_defaults(command=Later("penstock.cli.commands.demo:run"))
