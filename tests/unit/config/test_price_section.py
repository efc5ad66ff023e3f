"""`prices`: what may stand there."""

from pathlib import Path

import pytest

from penstock.config.errors import ConfigInvalid
from penstock.model.plugin_call import PluginCall
from penstock.model.spec import PriceSpec
from tests.helpers.feed_sections import HEAD, spec_of

FEEDS = "feeds: {a: {topics: [a]}}\n"


def test_every_price_is_a_number_or_nothing(tmp_path: Path) -> None:
    words = "currency: EUR, task_hour: 0.05, gb_month: 0.023, thousand_puts: 0, gb_read: null"
    spec = spec_of(tmp_path, f"{HEAD}prices: {{{words}, million_records: 12}}\n{FEEDS}")
    assert spec.prices == PriceSpec("EUR", 0.05, 0.023, None, 0.0, 12.0)
    assert spec.prices.has_any
    assert not PriceSpec("EUR").has_any


def test_a_plug_in_may_have_options(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, f"{HEAD}prices: {{plugin: tiers, options: {{free: 3}}}}\n{FEEDS}")
    assert spec.prices.call == PluginCall("tiers", (("free", 3),))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("task_hour: -1", "prices.task_hour: found '-1'; allowed: a price such as 0 or 0.023"),
        ("task_hour: 1e3", "prices.task_hour: found '1e3'"),
        ("currency: 'U$'", "prices.currency: found 'U$'; allowed: letters, at most 10, such as"),
        ("task_hours: 1", "prices.task_hours: unknown key"),
        ("options: {a: 1}", "prices.options: `options` without a plug-in"),
    ],
)
def test_anything_else_is_a_mistake(tmp_path: Path, words: str, sentence: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        spec_of(tmp_path, f"{HEAD}prices: {{{words}}}\n{FEEDS}")
    assert sentence in str(caught.value)
