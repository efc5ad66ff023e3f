"""What a failed login to HDFS says: the cause in the words of MIT's Kerberos, and a remedy."""

import re
from dataclasses import dataclass

_WORDS = re.compile(r', "(?P<said>(?:[^"\\]|\\.)*)"\Z', re.DOTALL)
# What comes before the cause, in the words of GSSAPI, which say nothing.
_PREAMBLE = re.compile(r".*?(?:more information|unavailable or inaccessible|was supplied): ")


@dataclass(frozen=True, slots=True)
class LoginFailure:
    """Why a login has failed, as the end of a sentence, and whether time alone may help."""

    why: str
    may_pass: bool = False


# By words of the cause. The first that fits counts.
_REMEDIES = (
    (
        "Ticket expired",
        "the Kerberos ticket has expired; renew it (kinit), or name a `keytab` below `store`",
    ),
    (
        "No Kerberos credentials available|No credentials cache found|cache file .* not found"
        "|find client principal|does not match desired name",
        "there is no Kerberos ticket; log in (kinit), or name a `keytab` below `store`",
    ),
    (
        "Client '.*' not found in Kerberos database|Client not found",
        "the Kerberos realm has no such principal; correct `principal` below `store`",
    ),
    (
        "Server '.*' not found in Kerberos database|Server not found",
        "the Kerberos realm does not know this name node; look at its principal",
    ),
    (
        "Decrypt integrity check failed|Preauthentication failed|Password incorrect"
        "|Password has expired|Key version .* is not available",
        "the keys of this keytab are not those of the realm any more; export the keytab again",
    ),
    (
        "credentials have been revoked|Client's entry in database has expired",
        "the Kerberos realm has locked this principal; have it unlocked",
    ),
    (
        "Clock skew too great|Ticket not yet valid",
        "the clocks of this host and of the Kerberos realm differ; set them right",
    ),
    (
        "default realm|krb5.conf|configuration file",
        "this host does not know its Kerberos realm; look at its krb5.conf, or at KRB5_CONFIG",
    ),
)
_UNREACHABLE = re.compile(
    "Cannot contact any KDC|Cannot (?:find|resolve).* KDC|Resource temporarily"
)

_JUST_EXPIRED = (
    "context has expired"  # the next try gets another ticket, or hears that there is none
)


def login_failure(said: str) -> LoginFailure:
    """What the client's `GSSAPIError` says; `said` are its numbers and its words."""
    found = _WORDS.search(said)
    cause = found["said"] if found else said
    cause = " ".join(_PREAMBLE.sub("", cause.replace("\\'", "'"), count=1).split())
    if _UNREACHABLE.search(cause):
        why = "no key server of the Kerberos realm can be reached; check it, and the network"
        return LoginFailure(f"{why} ({cause})", may_pass=True)
    if _JUST_EXPIRED in cause:
        return LoginFailure(f"its Kerberos ticket expired in this moment ({cause})", may_pass=True)
    for words, why in _REMEDIES:
        if re.search(words, cause):
            return LoginFailure(f"{why} ({cause})")
    return LoginFailure(f"the Kerberos login failed ({cause}); see the log of the key server")
