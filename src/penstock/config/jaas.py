"""Kafka's `sasl.jaas.config`: one login module of Kafka's own, and its options.

The text names a Java class that the client will load, so only known classes are allowed. The
grammar here is narrower than Java's: no comments, no second module, no line break inside quotes.
Kafka reads an accepted text in the same way.
"""

import re

from penstock.config.mistakes import Refused
from penstock.config.secrets import has_reference

_KAFKA = "org.apache.kafka.common.security"
MODULES = (
    f"{_KAFKA}.plain.PlainLoginModule",
    f"{_KAFKA}.scram.ScramLoginModule",
    f"{_KAFKA}.oauthbearer.OAuthBearerLoginModule",
    "com.sun.security.auth.module.Krb5LoginModule",
)

_OPTION_NAME = r"[\w.$-]+"
_VALUE = r"""(?:"(?:[^"\\\r\n]|\\[^\r\n])*"|'(?:[^'\\\r\n]|\\[^\r\n])*'|[\w.$-]+)"""
_ENTRY = re.compile(
    rf"\s*(?P<module>[\w.$]+)\s+(?i:required|requisite|sufficient|optional)"
    rf"(?P<options>(?:\s+{_OPTION_NAME}\s*=\s*{_VALUE})*)\s*;\s*",
    re.ASCII,
)
_OPTION = re.compile(rf"\s+(?P<name>{_OPTION_NAME})\s*=\s*{_VALUE}", re.ASCII)
# Options that OAUTHBEARER hands to the client of its token endpoint, which would load a class.
_LOADS_CODE = re.compile(r"\.class(?:es)?$|^security\.providers$|^config\.providers", re.IGNORECASE)
# Used on text whose references are not replaced, also if it is not a JAAS entry.
_SECRET_OPTION = re.compile(
    r"(?:password|secret)[\w.$-]{0,40}\s*=\s*(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s;]+)",
    re.IGNORECASE | re.DOTALL,
)


def jaas_complaint(text: str) -> Refused | None:
    """Why a JAAS text is refused; None if it is allowed."""
    entry = _ENTRY.fullmatch(text)
    if entry is None:
        return Refused("not a JAAS entry", 'MODULE required name="value" ...;')
    if entry["module"] not in MODULES:
        short = ", ".join(module.rpartition(".")[2] for module in MODULES)
        return Refused("a login module that is not Kafka's own", f"{short}, by their full names")
    if any(_LOADS_CODE.search(option["name"]) for option in _OPTION.finditer(entry["options"])):
        return Refused("an option that loads code; leave it out")
    return None


def jaas_has_literal_secret(text: str) -> bool:
    """True when a secret option is written as plain text instead of a reference."""
    return any(not has_reference(match["value"]) for match in _SECRET_OPTION.finditer(text))
