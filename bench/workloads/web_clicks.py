"""Clicks on web pages: about 1 KB, few levels, many fields that only some records have.

Times are milliseconds. Numbers come with and without a fraction. A campaign runs for a thousand
records and then pauses, so its fields come and go.
"""

from bench.workloads.dice import Dice
from bench.workloads.json_writers import Json, written

EVENTS = (
    "page_view", "click", "scroll", "search", "add_to_cart", "purchase", "video_play", "error"
)  # fmt: skip
_PATHS = ("", "shop/", "shop/schuhe/größe/", "blog/2026/01/", "hilfe/rückgabe/", "konto/")
_AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0",
)
_CITIES = ("Köln", "Malmö", "Łódź", "Lyon", "Brno", "Porto")
_OWN_FIELDS = ("ab_group", "coupon", "form_id", "gallery", "list_name", "share_target", "variant")


def web_click(number: int) -> bytes:
    """The click with this number."""
    dice = Dice(number, 2)
    event = dice.pick(EVENTS)
    at_ms = dice.time_ms()
    click: dict[str, object] = {
        "event": event,
        "ts": at_ms,
        "received_ts": at_ms + dice.up_to(4_000),
        "event_id": dice.uuid(),
        "anonymous_id": dice.uuid(),
        "session_id": f"{dice.bits(40)}.{at_ms // 1000}",
        "page": _page(dice),
        "screen": {"width": dice.pick((390, 1440, 1920)), "height": dice.pick((844, 900, 1080))},
        "agent": dice.pick(_AGENTS),
        "locale": dice.pick(("de-DE", "sv-SE", "pl-PL", "fr-FR")),
        "ip": dice.address(),
        "geo": {"country": dice.pick(("DE", "SE", "PL", "FR")), "city": dice.pick(_CITIES)},
        "consent": [word for word in ("ads", "stats", "chat") if dice.one_in(2)],
        "experiments": [],
        "props": _props(event, dice),
    }
    _add_optional(click, number, dice)
    return written(click, dice)


def _page(dice: Dice) -> Json:
    path = f"/{dice.pick(_PATHS)}{dice.hex(6)}"
    return {
        "url": f"https://www.shop.example{path}?ref={dice.hex(10)}&q=a+b",
        "path": path,
        "title": f"Laden • Artikel {dice.up_to(90_000)}",
        "referrer": f"https://search.example/?q={dice.hex(8)}" if dice.one_in(2) else None,
    }


def _add_optional(click: dict[str, object], number: int, dice: Dice) -> None:
    """The fields that only some records have."""
    if dice.one_in(3):
        click["user_id"] = dice.bits(31)
    if number // 1_000 % 2:
        click["campaign"] = {"source": "mail", "name": f"winter-{dice.up_to(9)}", "click": None}
    for name in _OWN_FIELDS:
        if dice.one_in(6):
            click[name] = f"{name}-{dice.up_to(500)}"
    if dice.one_in(20_000):
        click["debug"] = {"trace": dice.hex(32)}


def _props(event: str, dice: Dice) -> Json:
    """What belongs to the kind of event."""
    if event in {"click", "scroll"}:
        return {"x": dice.up_to(1900), "y": dice.up_to(9000), "target": f"#b-{dice.hex(4)}"}
    if event in {"add_to_cart", "purchase"}:
        items = [_item(dice) for _ in range(dice.between(1, 3))]
        return {"items": items, "currency": "EUR", "tax": 0 if dice.one_in(4) else dice.bits(9) / 4}
    if event == "search":
        return {"query": f"schuhe größe {dice.up_to(48)}", "hits": dice.up_to(400), "filters": {}}
    if event == "error":
        return {"message": f"TypeError: x is undefined\n\tat f ({dice.hex(9)}.js)", "code": None}
    return {"seconds": dice.up_to(600) if dice.one_in(2) else dice.bits(12) / 8}


def _item(dice: Dice) -> Json:
    price = dice.between(100, 20_000) / 100
    return {"sku": dice.hex(10), "quantity": dice.between(1, 4), "price": price, "tags": []}
