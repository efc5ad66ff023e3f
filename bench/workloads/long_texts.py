"""Documents: a few KB of text in many languages, with line breaks, quotes and other escapes."""

from bench.workloads.audit_logs import iso_text
from bench.workloads.dice import Dice
from bench.workloads.json_writers import written
from bench.workloads.languages import LANGUAGES, PEOPLE

SECTIONS = ("news", "review", "ticket", "mail", "wiki", "chat")
_LANGUAGES = tuple(LANGUAGES.values())
_BREAKS = (
    ".\n",
    ".\n\n",
    ',\t"',
    '" \u2013 ',
    ": C:\\temp\\",
    ". ",
    " / ",
    "… ",
    "\r\n> ",
    " \u2028",
)


def long_text(number: int) -> bytes:
    """The document with this number."""
    dice = Dice(number, 6)
    words = dice.pick(_LANGUAGES)
    lines = [
        f"{dice.words(words, 5, 14)}{dice.pick(_BREAKS)}{dice.hex(8)}"
        for _ in range(dice.between(15, 60))
    ]
    document: dict[str, object] = {
        "section": dice.pick(SECTIONS),
        "published": iso_text(dice.time_ms()),
        "id": dice.uuid(),
        "author": {"name": dice.pick(PEOPLE), "id": dice.bits(30)},
        "title": dice.words(words, 3, 9),
        "body": "".join(lines),
        "labels": [dice.pick(words) for _ in range(dice.up_to(5))],
        "attachments": [],
        "parent": dice.uuid() if dice.one_in(3) else None,
    }
    if dice.one_in(6):
        document["summary"] = dice.words(words, 20, 60)
    return written(document, dice)
