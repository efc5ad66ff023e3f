"""Author and reason of what a command gives up or removes."""

import argparse

from penstock.care.seek import Approval
from penstock.cli.common import author_of
from penstock.cli.errors import UsageMistake


def approval_of(chosen: argparse.Namespace) -> Approval | None:
    """Author and reason; None for a dry run. Checked before anything is done."""
    if not chosen.execute:
        return None
    reason = chosen.reason.strip()
    if not reason:
        raise UsageMistake(
            "`--execute` needs a `--reason`.",
            "Nothing was changed. The journal records who decided, and why.",
        )
    return Approval(author_of(chosen), reason)
