"""Posts of a social network: 2 to 6 KB, deeply nested, after the public shape of such posts.

Objects and lists of objects, optional objects (a post inside a post, a place, media), many nulls,
arrays that are always empty, 19-digit ids, and times such as "Wed Aug 27 13:08:45 +0000 2008".
"""

from datetime import UTC, datetime

from bench.workloads.dice import Dice
from bench.workloads.json_writers import Json, written
from bench.workloads.languages import COMMON, LANGUAGES, PEOPLE

TIME_PATTERN = "%a %b %d %H:%M:%S %z %Y"
_FIRST_ID = 505_874_000_000_000_000
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"
)  # fmt: skip
_IMAGE = "http://images.example.com/profile_images"
_COLORS = ("C0DEED", "DDEEF6", "333333", "0084B4", "FFFFFF", "1A1B1F")
_ZONES = ("Tokyo", "Berlin", "Central Time (US & Canada)", "Brasilia", None, None)
_SOURCES = (
    '<a href="http://example.com/download/phone" rel="nofollow">Posts for Phone</a>',
    '<a href="http://example.com/download/tablet" rel="nofollow">Posts for Tablet</a>',
    '<a href="http://example.com" rel="nofollow">Web Client</a>',
)


def social_post(number: int) -> bytes:
    """The post with this number."""
    dice = Dice(number, 1)
    post = _post(number, dice)
    if dice.one_in(2):
        post["retweeted_status"] = _post(dice.bits(40), dice)
    if dice.one_in(5_000):
        post["withheld_in_countries"] = [dice.pick(("DE", "FR", "TR"))]
    return written(post, dice)


def time_text(at_ms: int) -> str:
    """A time as posts have it; `strftime` would ask the locale for names."""
    at = datetime.fromtimestamp(at_ms // 1000, UTC)
    clock = at.strftime("%H:%M:%S +0000 %Y")
    return f"{_DAYS[at.weekday()]} {_MONTHS[at.month - 1]} {at.day:02} {clock}"


def _post(number: int, dice: Dice) -> dict[str, object]:
    language = dice.pick(COMMON)
    words = LANGUAGES[language]
    name = _FIRST_ID + number
    reply = dice.bits(59) if dice.one_in(4) else None
    post: dict[str, object] = {
        "created_at": time_text(dice.time_ms()),
        "id": name,
        "id_str": str(name),
        "text": f"{dice.words(words, 6, 22)}\n@{dice.hex(6)} http://t.example/{dice.hex(8)}",
        "source": dice.pick(_SOURCES),
        "truncated": dice.one_in(30),
        "in_reply_to_status_id": reply,
        "in_reply_to_status_id_str": None if reply is None else str(reply),
        "in_reply_to_user_id": None if reply is None else reply >> 30,
        "in_reply_to_user_id_str": None if reply is None else str(reply >> 30),
        "in_reply_to_screen_name": None if reply is None else dice.hex(9),
        "user": _user(dice, words, language),
        "geo": None,
        "coordinates": _point(dice) if dice.one_in(20) else None,
        "place": _place(dice) if dice.one_in(12) else None,
        "contributors": None,
        "retweet_count": dice.up_to(200),
        "favorite_count": dice.up_to(900),
        "entities": _entities(dice, words),
        "favorited": False,
        "retweeted": dice.one_in(50),
        "lang": language,
    }
    if dice.one_in(2):
        post["possibly_sensitive"] = dice.one_in(9)
    return post


def _user(dice: Dice, words: tuple[str, ...], language: str) -> Json:
    name, picture = dice.bits(31), dice.bits(50)
    color = dice.pick(_COLORS)
    zone = dice.pick(_ZONES)
    user: dict[str, object] = {
        "id": name,
        "id_str": str(name),
        "name": dice.pick(PEOPLE),
        "screen_name": f"user_{dice.hex(7)}",
        "location": dice.words(words, 0, 2),
        "description": dice.words(words, 4, 18),
        "url": f"http://t.example/{dice.hex(8)}" if dice.one_in(3) else None,
        "entities": {"description": {"urls": []}},
        "protected": False,
        "followers_count": dice.up_to(20_000),
        "friends_count": dice.up_to(3_000),
        "listed_count": dice.up_to(60),
        "created_at": time_text(1_300_000_000_000 + dice.bits(38)),
        "favourites_count": dice.up_to(9_000),
        "utc_offset": None if zone is None else dice.pick((32_400, 3_600, -21_600)),
        "time_zone": zone,
        "geo_enabled": dice.one_in(2),
        "verified": dice.one_in(40),
        "statuses_count": dice.up_to(90_000),
        "lang": language,
        "contributors_enabled": False,
        "is_translator": dice.one_in(99),
        "profile_background_color": color,
        "profile_background_image_url": f"{_IMAGE}/{picture}/back.jpeg",
        "profile_background_image_url_https": f"{_IMAGE}/{picture}/back.jpeg",
        "profile_background_tile": dice.one_in(2),
        "profile_image_url": f"{_IMAGE}/{picture}/normal.jpeg",
        "profile_link_color": color,
        "profile_use_background_image": True,
        "default_profile": dice.one_in(3),
        "following": None,
        "follow_request_sent": None,
        "notifications": None,
    }
    if dice.one_in(2):
        user["profile_banner_url"] = f"{_IMAGE}/{name}/{picture}"
    return user


def _entities(dice: Dice, words: tuple[str, ...]) -> Json:
    entities: dict[str, object] = {
        "hashtags": [
            {"text": dice.pick(words), "indices": _indices(dice)} for _ in range(dice.up_to(4))
        ],
        "symbols": [],
        "urls": [_link(dice) for _ in range(dice.up_to(3))],
        "user_mentions": [_mention(dice) for _ in range(dice.up_to(4))],
    }
    if dice.one_in(4):
        entities["media"] = [_media(dice)]
    return entities


def _indices(dice: Dice) -> list[int]:
    start = dice.up_to(90)
    return [start, start + dice.between(4, 23)]


def _link(dice: Dice) -> Json:
    short, long = dice.hex(8), dice.hex(20)
    return {
        "url": f"http://t.example/{short}",
        "expanded_url": f"https://news.example.org/articles/{long}?from=post",
        "display_url": f"news.example.org/articles/{long[:9]}…",
        "indices": _indices(dice),
    }


def _mention(dice: Dice) -> Json:
    name = dice.bits(31)
    return {
        "screen_name": f"user_{dice.hex(7)}",
        "name": dice.pick(PEOPLE),
        "id": name,
        "id_str": str(name),
        "indices": _indices(dice),
    }


def _media(dice: Dice) -> Json:
    name = dice.bits(59)
    sizes = {
        size: {"w": width, "h": dice.between(100, 900), "resize": "crop" if width < 200 else "fit"}
        for size, width in (("thumb", 150), ("small", 340), ("medium", 600), ("large", 1024))
    }
    return {
        **_link(dice),
        "id": name,
        "id_str": str(name),
        "media_url": f"{_IMAGE}/{dice.hex(15)}.jpg",
        "type": "photo",
        "sizes": sizes,
    }


def _point(dice: Dice) -> Json:
    place = [dice.between(-18_000, 18_000) / 100, dice.between(-9_000, 9_000) / 100]
    return {"type": "Point", "coordinates": place}


def _place(dice: Dice) -> Json:
    west, south = dice.between(-1_700, 1_700) / 10, dice.between(-800, 800) / 10
    corners = [[west, south], [west + 0.5, south], [west + 0.5, south + 0.5], [west, south + 0.5]]
    return {
        "id": dice.hex(16),
        "url": f"https://api.example.com/1.1/geo/id/{dice.hex(16)}.json",
        "place_type": dice.pick(("city", "admin", "poi")),
        "full_name": dice.pick(("Zürich, Schweiz", "São Paulo, Brasil", "Springfield, US")),
        "country_code": dice.pick(("CH", "BR", "US")),
        "contained_within": [],
        "bounding_box": {"type": "Polygon", "coordinates": [corners]},
        "attributes": {},
    }
