"""Keeps secrets out of what Kafka's client says: their values are replaced in every text."""

import re
from collections.abc import Mapping, Sequence

HIDDEN = "[hidden]"
_SECRET = re.compile(r"password|secret|token$|jaas|\.key$", re.IGNORECASE)
_OPTION = re.compile(
    r"(?:password|secret|token)[\w.$-]*\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|([^\s;]+))",
    re.IGNORECASE,
)
_SHORTEST = 4  # a shorter value would hide parts of ordinary words


def secrets_in(options: Mapping[str, str]) -> list[str]:
    """What must not be repeated: values of secret options, and secrets inside logins."""
    found = [value for name, value in options.items() if _SECRET.search(name)]
    parts = [part for value in found for groups in _OPTION.findall(value) for part in groups]
    found += [form for part in parts for form in (part, re.sub(r"\\(.)", r"\1", part))]
    longest_first = sorted(set(found), key=lambda value: (-len(value), value))
    return [value for value in longest_first if len(value) >= _SHORTEST]


def hidden(text: str, secrets: Sequence[str]) -> str:
    """The text without these values."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text
