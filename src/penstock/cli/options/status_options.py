"""The words of `penstock status`."""

from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_config, with_output


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "status",
        help="show how far each feed is",
        description="Per feed: watermark, lag, freshness, last window, undone windows, parked "
        "datasets, quarantine; of a halted feed the cause, and what to do. Lag is from the owner's "
        "last look at Kafka; with --live, from now.",
        epilog="example: penstock status events --config-of 3-17",
    )
    command.add_argument("feeds", nargs="*", metavar="FEED")
    command.add_argument("--live", action="store_true", help="ask Kafka for the present lag")
    command.add_argument(
        "--stats",
        action="store_true",
        help="show how the records of each dataset were read, and what recent windows were like",
    )
    command.add_argument(
        "--wide",
        action="store_true",
        help="show also watermarks, windows, epoch and undone windows; wider than 100 columns",
    )
    command.add_argument(
        "--config-of",
        metavar="WINDOW",
        help="show the configuration that shaped the rows of a window, of one feed",
    )
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.status:run"))
