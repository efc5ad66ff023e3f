"""The prices of a configuration as one function, with the plug-in that it may name."""

import math
from collections.abc import Callable

from penstock.api.doors import PRICES
from penstock.api.errors import PluginBroken
from penstock.api.find import STOPS, make, offer, said
from penstock.api.price import Used
from penstock.model.spec import PriceSpec
from penstock.status.cost_lines import Amount

GB = 1_000_000_000


def pricing(spec: PriceSpec) -> Amount:
    """What things cost by the keys of `prices`, and by its plug-in; raises a `PluginError`."""
    if not spec.has_any:
        return lambda _used: None
    other = _by_plugin(spec)
    return lambda used: by_keys(spec, used) + other(used)


def by_keys(spec: PriceSpec, used: Used) -> float:
    """What something costs by the keys; what has no price costs nothing."""
    return (
        (spec.task_hour or 0.0) * used.task_s / 3600
        + (spec.gb_month or 0.0) * used.written_bytes / GB
        + (spec.gb_read or 0.0) * used.read_bytes / GB
        + (spec.thousand_puts or 0.0) * used.requests / 1_000
        + (spec.million_records or 0.0) * used.records / 1_000_000
    )


def _by_plugin(spec: PriceSpec) -> Callable[[Used], float]:
    """What the plug-in says; an answer that is not a number makes it unusable."""
    if spec.call is None:
        return lambda _used: 0.0
    ref = offer(PRICES, spec.call.name)
    price = make(PRICES, ref, **dict(spec.call.options))

    def asked(used: Used) -> float:
        try:
            found = float(price.amount(used))
        except STOPS:
            raise
        except BaseException as error:
            raise PluginBroken(ref, said(error)) from error
        if not math.isfinite(found):
            raise PluginBroken(ref, f"it answered {found}, which is not an amount")
        return found

    return asked
