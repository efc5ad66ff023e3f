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
        epilog="example: penstock status events --output json",
    )
    command.add_argument("feeds", nargs="*", metavar="FEED")
    command.add_argument("--live", action="store_true", help="ask Kafka for the present lag")
    command.add_argument(
        "--stats", action="store_true", help="show how the records of each dataset were read"
    )
    command.add_argument(
        "--wide",
        action="store_true",
        help="show also watermarks, windows, epoch and undone windows; wider than 100 columns",
    )
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.status:run"))
